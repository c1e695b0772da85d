use super::testbeds;
use guestright_experiment::SettingInfo;
use std::collections::BTreeSet;

fn line(info: &SettingInfo) -> String {
    let unit = if info.unit.is_empty() { String::new() } else { format!(" [{}]", info.unit) };
    format!("{}{unit} = {:?}, {}\n    {}\n", info.name, info.default(), info.wanted(), info.about)
}

/// Names, units, defaults, limits, sentences and their order are what people write in plans and read in `lab list`.
#[test]
fn what_can_be_set_is_what_plans_were_written_for() {
    for testbed in testbeds() {
        let lines: String = testbed.settings().iter().map(line).collect();
        insta::assert_snapshot!(format!("settings_{}", testbed.name()), lines);
    }
}

#[test]
fn settings_have_a_sentence_each_and_no_name_twice() {
    for testbed in testbeds() {
        let mut names = BTreeSet::new();
        for info in testbed.settings() {
            assert!(names.insert(info.name), "{} has {} twice", testbed.name(), info.name);
            assert!(info.about.ends_with('.'), "{} {}", testbed.name(), info.name);
            assert_eq!(info.accept(&info.default()), Ok(info.default()), "{} {}", testbed.name(), info.name);
        }
    }
}
