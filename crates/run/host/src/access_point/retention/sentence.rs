//! A record in words.

use guestright_units::Bytes;
use serde_json::Value;

/// One record of those that are fetched, for people.
pub fn sentence(record: &Value) -> String {
    let text = |name: &str| record[name].as_str();
    let team = text("team").map_or_else(
        || "a stranger".to_owned(),
        |team| format!("team {}, key {}", team.get(..8).unwrap_or(team), text("member").unwrap_or("-")),
    );
    let ended = match text("ended") {
        Some(ended) if record["cut"] == true => format!("{ended} or a minute later"),
        Some(ended) => ended.to_owned(),
        None => "now".to_owned(),
    };
    let tunnel = if record["by_tunnel"] == true { ", its tunnel home alone" } else { "" };
    let carried = Bytes(record["carried"].as_u64().unwrap_or_default());
    let (ip, mac) = (text("ip").unwrap_or("-"), text("mac").unwrap_or("hardware address unknown"));
    let began = text("began").unwrap_or("-");
    format!("{ip} ({mac})  {team}  from {began} to {ended}, {carried}{tunnel}")
}
