//! What takes time: the store's sums, the exchange's calls, what `doctor` would find. It is gathered outside the loop, only while
//! somebody asks, and what costs is gathered once a minute.

use super::super::gateway::DeviceStatus;
use crate::examine::{self, Finding};
use guestright_exchange::Exchange;
use guestright_identity::{Certificate, KeyId, Role};
use guestright_overview::{
    Call, Device, DeviceKind, Hour, Key, Member, Moment, Name, Overview, Sentence, Sum, Why,
};
use guestright_store::{HourSums, Store, StoreError, WriterHandle};
use guestright_units::{TeamId, UnixSeconds};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, oneshot};

/// What costs is gathered again after so long.
const SLOW_EVERY: Duration = Duration::from_secs(60);
/// The exchange usually answers within milliseconds.
const CALLS_WITHIN: Duration = Duration::from_secs(1);
const DAYS_30: u64 = 30 * 86_400;

/// What was gathered, and is good for a while.
#[derive(Debug, Default)]
pub(super) struct Slow {
    at: Option<Instant>,
    hours: BTreeMap<UnixSeconds, HourSums>,
    seen: BTreeMap<KeyId, UnixSeconds>,
    findings: Vec<guestright_overview::Finding>,
    tunnels: BTreeMap<String, DeviceStatus>,
}

/// A member, as the gateway's directory and the book of phones name it.
#[derive(Debug)]
pub(in super::super) struct Named {
    pub(in super::super) key: KeyId,
    pub(in super::super) name: String,
    /// When a certificate of it ends that is in this home.
    pub(in super::super) not_after: Option<UnixSeconds>,
    pub(in super::super) has_tunnel: bool,
    pub(in super::super) phone: Option<Phone>,
}

/// A member's phone without an app.
#[derive(Clone, Debug)]
pub(in super::super) struct Phone {
    pub(in super::super) member: String,
    pub(in super::super) key: String,
    pub(in super::super) label: String,
    pub(in super::super) not_after: Option<UnixSeconds>,
    pub(in super::super) revoked: Option<UnixSeconds>,
}

/// How to look at members' tunnels, which may take a program.
pub(in super::super) type LookAtTunnels = Box<dyn FnOnce() -> BTreeMap<String, DeviceStatus> + Send>;

/// What the rest is gathered from.
pub(super) struct Gather {
    pub(super) team: TeamId,
    pub(super) now: UnixSeconds,
    pub(super) store: WriterHandle,
    pub(super) slow: Arc<Mutex<Slow>>,
    pub(super) certificate: Certificate,
    /// The interface to the Internet of the gateway, if there is one.
    pub(super) uplink: Option<String>,
    pub(super) tunnels: Option<LookAtTunnels>,
    pub(super) calls: Option<oneshot::Receiver<Value>>,
    pub(super) members: Vec<Named>,
    pub(super) revoked: BTreeMap<KeyId, UnixSeconds>,
}

/// Asks the exchange for its calls, as `home status` does.
pub(in super::super) fn ask_calls(exchange: &Exchange) -> oneshot::Receiver<Value> {
    let (reply, answer) = oneshot::channel();
    // It joins what it knows to what the home sends, which is nothing here.
    let _ = exchange.join(reply).send(json!({}));
    answer
}

impl Gather {
    /// Fills in what the loop does not know, and gives each asker the same with its own `why`.
    pub(super) async fn answer(mut self, mut overview: Overview, askers: Vec<(Option<Why>, super::Reply)>) {
        if let Some(calls) = self.calls.take() {
            let status = tokio::time::timeout(CALLS_WITHIN, calls).await;
            overview.calls =
                status.ok().and_then(Result::ok).map(|status| calls_of(&status)).unwrap_or_default();
        }
        let slow = Arc::clone(&self.slow);
        let mut slow = slow.lock().await;
        if slow.at.is_none_or(|at| at.elapsed() >= SLOW_EVERY) {
            self.refresh(&mut slow).await;
        }
        let refused = std::mem::take(&mut overview.hours);
        overview.hours = hours(&slow.hours, refused);
        overview.findings.clone_from(&slow.findings);
        overview.members = members(&self.members, &self.revoked, &slow);
        drop(slow);
        for (why, reply) in askers {
            reply.send(Overview { why, ..overview.clone() }.shortened());
        }
    }

    /// What cannot be read stays as it was.
    async fn refresh(&mut self, slow: &mut Slow) {
        slow.at = Some(Instant::now());
        let (team, since) = (self.team, self.now.minus(DAYS_30));
        match in_store(&self.store, move |store| Ok((store.hours(team, since)?, store.members_seen(team)?)))
            .await
        {
            Ok((hours, seen)) => (slow.hours, slow.seen) = (hours, seen),
            Err(error) => tracing::warn!(%error, "the last 30 days could not be summed up"),
        }
        let (certificate, uplink, tunnels) =
            (self.certificate.clone(), self.uplink.clone(), self.tunnels.take());
        let look = move || (findings(&certificate, uplink.as_deref()), tunnels.map(|look| look()));
        if let Ok((findings, tunnels)) = tokio::task::spawn_blocking(look).await {
            slow.findings = findings;
            slow.tunnels = tunnels.unwrap_or_default();
        }
    }
}

async fn in_store<T: Send + 'static>(
    store: &WriterHandle,
    read: impl FnOnce(&Store) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let (reply, answer) = oneshot::channel();
    store.run(move |store| drop(reply.send(read(store))))?;
    answer.await.unwrap_or(Err(StoreError::Stopped))
}

/// The sums of the store with the refusals that were counted.
fn hours(sums: &BTreeMap<UnixSeconds, HourSums>, refused: Vec<Hour>) -> Vec<Hour> {
    let refused: BTreeMap<_, _> = refused.into_iter().map(|hour| (hour.start, hour.refused)).collect();
    let mut hours: BTreeMap<Moment, Hour> = BTreeMap::new();
    for (start, sums) in sums {
        let hour = hours.entry(Moment::from(*start)).or_insert_with(|| empty(Moment::from(*start)));
        hour.served = sums.served.into();
        hour.consumed = sums.consumed.into();
        hour.allowance_used = sums.without_hold.into();
    }
    for (start, refused) in refused {
        hours.entry(start).or_insert_with(|| empty(start)).refused = refused;
    }
    hours.into_values().collect()
}

pub(super) fn empty(start: Moment) -> Hour {
    let none = Sum::default();
    Hour { start, served: none, consumed: none, allowance_used: none, refused: BTreeMap::new() }
}

/// The household's own people: those who are named here, and those whose certificates were seen.
fn members(named: &[Named], revoked: &BTreeMap<KeyId, UnixSeconds>, slow: &Slow) -> Vec<Member> {
    let seen_alone = slow.seen.keys().filter(|key| named.iter().all(|member| member.key != **key));
    let unnamed = seen_alone.map(|key| (*key, Name::shortened(&TeamId(key.0).short()), None));
    let named = named.iter().map(|member| (member.key, Name::shortened(&member.name), Some(member)));
    let member = |(key, name, named): (KeyId, Name, Option<&Named>)| Member {
        name,
        key: Key(key.0),
        not_after: slow.seen.get(&key).copied().max(named.and_then(|it| it.not_after)).map(Moment::from),
        revoked: revoked.get(&key).copied().map(Moment::from),
        devices: named.map(|named| devices(named, slow)).unwrap_or_default(),
    };
    let mut members: Vec<_> = named.chain(unnamed).map(member).collect();
    members.sort_by(|one, other| (&one.name, one.key).cmp(&(&other.name, other.key)));
    members
}

fn devices(member: &Named, slow: &Slow) -> Vec<Device> {
    let tunnel = member.has_tunnel.then(|| {
        let status = slow.tunnels.get(&member.name).copied().unwrap_or_default();
        Device {
            kind: DeviceKind::Tunnel,
            label: Name::shortened(&member.name),
            not_after: None,
            revoked: None,
            handshake: status.handshake.map(Moment::from),
            received: status.received.into(),
            sent: status.sent.into(),
        }
    });
    let phone = member.phone.as_ref().map(|phone| Device {
        kind: DeviceKind::Phone,
        label: Name::shortened(&phone.label),
        not_after: phone.not_after.map(Moment::from),
        revoked: phone.revoked.map(Moment::from),
        handshake: None,
        received: Sum::default(),
        sent: Sum::default(),
    });
    tunnel.into_iter().chain(phone).collect()
}

/// What the exchange says of calls, without whom they are between.
pub(in super::super) fn calls_of(status: &Value) -> Vec<Call> {
    let calls = status["voice"]["calls"].as_array().into_iter().flatten();
    let call = |call: &Value| {
        serde_json::from_value(json!({
            "id": call["id"],
            "since": call["since"],
            "phase": call["phase"],
            "protection": call["protection"],
            // An end of the call alone knows its delay; the exchange does not, and makes none up.
            "mos_to_caller": Value::Null,
            "mos_to_callee": Value::Null,
        }))
    };
    calls.filter_map(|each| call(each).ok()).collect()
}

/// What `guestright doctor --for home` looks at, but for what only a program that does not run can try.
pub(super) fn findings(certificate: &Certificate, uplink: Option<&str>) -> Vec<guestright_overview::Finding> {
    let mut findings = vec![Finding::of("clock", true, examine::clock())];
    findings.extend(examine::certificate("key and certificate", certificate, Role::Home));
    if let Some(uplink) = uplink {
        findings.push(Finding::of("uplink", true, examine::uplink(uplink)));
        findings.push(Finding::of("rights", true, examine::rights()));
        findings.push(examine::tool("nftables", "nft", "--version", "install the package nftables"));
        findings.push(examine::tool("tc and ip", "tc", "-V", "install the package iproute2"));
        let kernel = examine::wireguard_of_kernel();
        let has_kernel = kernel.is_ok();
        findings.push(Finding::of("WireGuard of the kernel", false, kernel));
        findings.push(Finding::of("TUN device", !has_kernel, examine::tun_device()));
    }
    findings.iter().map(shown).collect()
}

fn shown(finding: &Finding) -> guestright_overview::Finding {
    guestright_overview::Finding {
        what: Name::shortened(finding.what),
        good: finding.good,
        needed: finding.needed,
        says: Sentence::shortened(&finding.says),
        to_do: (!finding.good).then(|| Sentence::shortened(&finding.to_do)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use guestright_overview::{Count, Phase, Protection};
    use guestright_units::Bytes;

    #[test]
    fn an_hour_has_its_sums_and_its_refusals() {
        let start = UnixSeconds(3_600_000);
        let sums = HourSums { served: Bytes(5), without_hold: Bytes(2), consumed: Bytes(7) };
        let refusals = |hour: u64| Hour {
            refused: [(Name::shortened("busy"), Count::at_most_max(3))].into(),
            ..empty(Moment::at_most_max(hour))
        };
        let hours = hours(&[(start, sums)].into(), vec![refusals(3_600_000), refusals(3_603_600)]);
        assert_eq!(hours.len(), 2);
        assert_eq!(
            (hours[0].served.get(), hours[0].allowance_used.get(), hours[0].consumed.get()),
            (5, 2, 7)
        );
        assert_eq!(hours[0].refused.len(), 1);
        assert_eq!((hours[1].start.get(), hours[1].served.get(), hours[1].refused.len()), (3_603_600, 0, 1));
    }

    #[test]
    fn a_member_is_named_once_and_its_certificate_is_the_last_one_seen() {
        let named = |key: u8, name: &str, not_after| Named {
            key: KeyId([key; 24]),
            name: name.to_owned(),
            not_after,
            has_tunnel: key == 1,
            phone: None,
        };
        let mut slow = Slow::default();
        slow.seen.insert(KeyId([1; 24]), UnixSeconds(50));
        slow.seen.insert(KeyId([3; 24]), UnixSeconds(60));
        let revoked = [(KeyId([2; 24]), UnixSeconds(8))].into();
        let all =
            members(&[named(1, "bob", Some(UnixSeconds(40))), named(2, "alice", None)], &revoked, &slow);
        let names: Vec<_> = all.iter().map(|it| (it.name.as_str(), it.not_after.map(Moment::get))).collect();
        assert_eq!(names, [("03030303", Some(60)), ("alice", None), ("bob", Some(50))]);
        assert_eq!(all[1].revoked.map(Moment::get), Some(8));
        assert_eq!((all[1].devices.len(), all[2].devices.len()), (0, 1));
    }

    #[test]
    fn a_call_is_shown_without_whom_it_is_between() {
        let status = json!({ "voice": { "calls": [
            { "id": 4, "caller": "alice", "callee": "bob", "since": 1_800_000_000_u64, "phase": "up",
              "protection": "end-to-end", "mos": null },
            { "id": 5, "caller": "alice", "callee": "eve", "since": 1_800_000_001_u64, "phase": "calling",
              "protection": null, "mos": null },
        ] } });
        let calls = calls_of(&status);
        assert_eq!((calls[0].phase, calls[0].protection), (Phase::Up, Some(Protection::EndToEnd)));
        assert_eq!((calls[1].phase, calls[1].protection, calls[1].id.get()), (Phase::Calling, None, 5));
        assert!(!serde_json::to_string(&calls).unwrap().contains("alice"));
        assert!(calls_of(&json!({})).is_empty(), "a home without an exchange");
    }
}
