use guestright_experiment::SettingInfo;

/// The settings of all `parts`, in their order; `N` is how many they are.
pub(crate) const fn joined<const N: usize>(parts: &[&[SettingInfo]]) -> [SettingInfo; N] {
    let mut all = [parts[0][0]; N];
    let (mut part, mut place, mut filled) = (0, 0, 0);
    while part < parts.len() {
        if place == parts[part].len() {
            (part, place) = (part + 1, 0);
            continue;
        }
        all[filled] = parts[part][place];
        (place, filled) = (place + 1, filled + 1);
    }
    assert!(filled == N, "N is the number of settings");
    all
}
