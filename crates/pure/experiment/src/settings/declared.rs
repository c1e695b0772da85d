//! The macro `settings!`, and what it expands to. See design note 0008.
//!
//! A setting that is misspelt where it is used does not compile:
//!
//! ```compile_fail,E0609
//! guestright_experiment::settings! {
//!     struct LinkSettings {
//!         /// Rate of the link.
//!         rate_mbps: f64 = float("link.rate_mbps", "Mb/s", 10.0, (0.1, 1_000.0)),
//!     }
//! }
//!
//! fn rate(settings: &LinkSettings) -> f64 {
//!     settings.rate_mpbs
//! }
//! ```
//!
//! Nor does a declaration whose default is outside its range, whose range is beyond its type, or whose default is none of
//! its words:
//!
//! ```compile_fail,E0080
//! guestright_experiment::settings! {
//!     struct LinkSettings {
//!         /// Rate of the link.
//!         rate_mbps: f64 = float("link.rate_mbps", "Mb/s", 0.0, (0.1, 1_000.0)),
//!     }
//! }
//! ```
//!
//! ```compile_fail,E0080
//! guestright_experiment::settings! {
//!     struct LinkSettings {
//!         /// What waits for it; more is dropped.
//!         queue_max: u8 = integer("link.queue_max", "packets", 50, (1, 256)),
//!     }
//! }
//! ```
//!
//! ```compile_fail,E0080
//! const DIRECTIONS: [(&str, bool); 2] = [("up", true), ("down", false)];
//!
//! guestright_experiment::settings! {
//!     struct LinkSettings {
//!         /// Which way it carries.
//!         is_up: bool = choice("link.direction", "upp", DIRECTIONS),
//!     }
//! }
//! ```

use super::SettingInfo;

/// Declares the settings of a testbed as a struct: one line gives a setting's type, kind, name in plans, unit, default
/// and range, and its doc comment is the sentence of `lab list`. A field without `=` is a group of settings that was
/// declared elsewhere; its settings stand where it stands.
///
/// The struct gets `SETTINGS`, what [`Testbed::settings`](crate::Testbed::settings) returns, and `read`, which makes
/// the struct of completed [`Settings`](crate::Settings). The kinds and what is in their brackets:
///
/// | kind | type of the field | in brackets |
/// | --- | --- | --- |
/// | `bool` | `bool` | name, default |
/// | `integer` | any integer | name, unit, default, (least, most) |
/// | `float` | `f64` | name, unit, default, (least, most) |
/// | `choice` | any that is `Copy` | name, word of the default, array of (word, value) |
/// | `text` | `String` | name, default |
/// | `file` | `Option<Arc<Attached>>` | name |
///
/// A default outside the range, a range beyond the integer's type, or a default that is none of the words does not
/// compile.
///
/// ```
/// use guestright_experiment::{Settings, settings};
///
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// pub enum Queue {
///     DropTail,
///     Red,
/// }
///
/// const QUEUES: [(&str, Queue); 2] = [("droptail", Queue::DropTail), ("red", Queue::Red)];
///
/// settings! {
///     /// A link.
///     pub struct LinkSettings {
///         /// Rate of the link.
///         rate_mbps: f64 = float("link.rate_mbps", "Mb/s", 10.0, (0.1, 1_000.0)),
///         /// What waits for it; more is dropped.
///         queue_max: u32 = integer("link.queue_max", "packets", 50, (1, 100_000)),
///         /// What is done with what waits.
///         queue: Queue = choice("link.queue", "droptail", QUEUES),
///     }
/// }
///
/// settings! {
///     pub struct CallSettings {
///         /// Whether the link carries anything else.
///         is_shared: bool = bool("shared", false),
///         link: LinkSettings,
///     }
/// }
///
/// let given = Settings::new().with("link.queue", "red").complete(CallSettings::SETTINGS).unwrap();
/// let call = CallSettings::read(&given).unwrap();
/// assert_eq!((call.link.queue, call.link.queue_max), (Queue::Red, 50));
/// assert_eq!(CallSettings::SETTINGS[1].about, "Rate of the link.");
/// ```
#[macro_export]
macro_rules! settings {
    (
        $(#[doc = $doc:literal])*
        $vis:vis struct $name:ident {
            $(
                $(#[doc = $about:literal])*
                $field:ident : $type:ty $( = $kind:ident ( $($what:tt)* ) )?
            ),+ $(,)?
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug)]
        $vis struct $name {
            $( $(#[doc = $about])* $vis $field: $type, )+
        }

        impl $name {
            /// Every setting, in the order of the declaration.
            $vis const SETTINGS: &'static [$crate::SettingInfo] = {
                const PARTS: &[&[$crate::SettingInfo]] = &[
                    $( $crate::settings!(@infos [concat!("" $(, $about)*)] $type $(, $kind ( $($what)* ) )?), )+
                ];
                const { &$crate::declared::joined::<{ $crate::declared::count(PARTS) }>(PARTS) }
            };

            /// Of completed settings.
            ///
            /// # Errors
            ///
            /// When one is missing or of another kind, which `Settings::complete` has ruled out.
            $vis fn read(settings: &$crate::Settings) -> Result<Self, $crate::SettingError> {
                Ok(Self {
                    $( $field: $crate::settings!(@read settings, $type $(, $kind ( $($what)* ) )?)?, )+
                })
            }
        }
    };

    // A group, a choice, a whole number, and the other kinds, as a slice of what is said of them.
    (@infos [$about:expr] $type:ty) => { <$type>::SETTINGS };
    (@infos [$about:expr] $type:ty, choice ($name:expr, $default:expr, $words:expr $(,)?)) => {
        const {
            let words: &'static [&'static str] = const { &$crate::declared::words(&$words) };
            let default = $crate::declared::word_of($default, words);
            &[$crate::SettingInfo::choice($name, default, words, $crate::declared::sentence($about))]
        }
    };
    (@infos [$about:expr] $type:ty, integer ($name:expr, $unit:expr, $default:expr, $range:expr $(,)?)) => {
        const {
            let range: (i64, i64) = $range;
            assert!(
                <$type>::MIN as i128 <= range.0 as i128 && range.1 as i128 <= <$type>::MAX as i128,
                "the range is beyond the type"
            );
            &[$crate::SettingInfo::integer(
                $name, $unit, $default, $range, $crate::declared::sentence($about),
            )]
        }
    };
    (@infos [$about:expr] $type:ty, $kind:ident ($($what:expr),+ $(,)?)) => {
        const { &[$crate::SettingInfo::$kind($($what,)+ $crate::declared::sentence($about))] }
    };

    // The same, as what reads them.
    (@read $settings:ident, $type:ty) => { <$type>::read($settings) };
    (@read $settings:ident, $type:ty, bool ($name:expr, $($rest:tt)*)) => { $settings.bool($name) };
    (@read $settings:ident, $type:ty, integer ($name:expr, $($rest:tt)*)) => { $settings.whole::<$type>($name) };
    (@read $settings:ident, $type:ty, float ($name:expr, $($rest:tt)*)) => { $settings.float($name) };
    (@read $settings:ident, $type:ty, choice ($name:expr, $default:expr, $words:expr $(,)?)) => {
        $settings.one_of::<$type>($name, &$words)
    };
    (@read $settings:ident, $type:ty, file ($name:expr $(,)?)) => { $settings.file($name) };
    (@read $settings:ident, $type:ty, text ($name:expr, $($rest:tt)*)) => {
        $settings.text($name).map(str::to_owned)
    };
}

/// How many settings all `parts` have.
pub const fn count(parts: &[&[SettingInfo]]) -> usize {
    let (mut part, mut count) = (0, 0);
    while part < parts.len() {
        count += parts[part].len();
        part += 1;
    }
    count
}

/// The settings of all `parts`, in their order; `N` is how many they are.
pub const fn joined<const N: usize>(parts: &[&[SettingInfo]]) -> [SettingInfo; N] {
    let mut all = [SettingInfo::bool("", false, ""); N];
    let (mut part, mut filled) = (0, 0);
    while part < parts.len() {
        let mut index = 0;
        while index < parts[part].len() {
            all[filled] = parts[part][index];
            (filled, index) = (filled + 1, index + 1);
        }
        part += 1;
    }
    assert!(filled == N, "N is the number of settings");
    all
}

/// The words of a table of words and what they stand for.
pub const fn words<T: Copy, const N: usize>(table: &[(&'static str, T); N]) -> [&'static str; N] {
    let mut words = [""; N];
    let mut index = 0;
    while index < N {
        words[index] = table[index].0;
        index += 1;
    }
    words
}

/// `word`, which must be one of `words`.
pub const fn word_of(word: &'static str, words: &[&str]) -> &'static str {
    let mut index = 0;
    while index < words.len() {
        if is_equal(word.as_bytes(), words[index].as_bytes()) {
            return word;
        }
        index += 1;
    }
    panic!("the default is none of the words")
}

/// What a doc comment says: each line of it begins with a space, and they come joined.
pub const fn sentence(doc: &'static str) -> &'static str {
    doc.trim_ascii()
}

const fn is_equal(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    let mut index = 0;
    while index < one.len() {
        if one[index] != other[index] {
            return false;
        }
        index += 1;
    }
    true
}
