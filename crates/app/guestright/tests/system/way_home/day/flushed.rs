//! Another program on the laptop loads its firewall anew, which flushes everybody's tables, or cleans up rules.

use super::air::{Chatter, Watch};
use super::networks::ROUTER;
use super::{Day, before_there_is_a_network, succeeded, until};
use crate::town::inside;

/// So often the laptop's program has said that it closed the switch again.
fn times_closed_again(day: &Day) -> usize {
    let log = std::fs::read_to_string(day.abroad.town.path("laptop/state/log")).unwrap_or_default();
    log.matches("another program had changed the kill switch; it is closed again").count()
}

#[test]
fn what_another_program_takes_from_the_switch_is_back_and_the_laptop_stays_online() {
    let test = "way_home::day::flushed::what_another_program_takes_from_the_switch_is_back_and_the_laptop_stays_online";
    if !inside(test) {
        return;
    }
    let mut day = Day::build();
    day.set_clock("+0");
    let (_house, _ap) = day.abroad.town.open();
    let _home = day.abroad.start_quiet_home();
    let before = day.abroad.condition();
    before_there_is_a_network(&day);
    day.join(ROUTER);
    day.until_online();
    let daemon = day.daemon();
    let chatter = Chatter::begin(&day);
    let attacks: [&[&str]; 3] = [
        &["nft", "flush", "ruleset"],
        &["ip", "rule", "delete", "preference", "7273"],
        &["nft", "delete", "table", "inet", "guestright_guard"],
    ];
    for attack in attacks {
        let closed = times_closed_again(&day);
        let meanwhile = day.abroad.capture_on("member", "wlan0");
        day.abroad.town.world.run("member", attack[0], &attack[1..]).unwrap();
        until("the switch to be closed again", || times_closed_again(&day) > closed);
        println!("{attack:?}: {} frames until it was closed again", meanwhile.stop().len());
        let mut watch = Watch::begin(&day);
        day.until_online();
        until("enough to be seen", || {
            assert_eq!(day.abroad.town.download("member", 300_000).unwrap(), 300_000);
            watch.judge() > 100
        });
        watch.stop();
    }
    assert_eq!(day.daemon(), daemon, "nothing was restarted");
    assert!(chatter.stop() > 100);
    succeeded(&day.command(&["down"]));
    day.leave_network();
    assert_eq!(day.abroad.condition(), before, "nothing is left behind");
}
