//! What the page can ask for (`web/src/api/actions.ts`).

use guestright_overview::{Class, Count, Key, Moment, Name, Sum, Team};
use guestright_web::Refusal;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

/// One thing to be done. Each is `POST` with JSON, at a path of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    EndGuest(EndGuest),
    Block(Block),
    Everybody(Everybody),
    AddMember(AddMember),
    MemberCode(MemberCode),
    RenewMember(MemberKey),
    RevokeMember(MemberKey),
    DryRun(DryRunSettings),
    Set(Limits),
}

/// Ends a guest's session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EndGuest {
    /// Where it is.
    pub access_point: Key,
    /// The session, as the overview names it.
    pub id: Name,
}

/// Serves a team or a device no longer, whatever is owed; or serves it again. Exactly one of the two is not `null`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Block {
    /// A team.
    #[serde(deserialize_with = "stated")]
    #[schema(required)]
    pub team: Option<Team>,
    /// A device, by its hardware address.
    #[serde(deserialize_with = "stated")]
    #[schema(required)]
    pub mac: Option<Name>,
    /// Whether it is blocked from now on.
    pub blocked: bool,
}

/// Serves everybody in the lowest class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Everybody {
    /// Until then; `null`: no longer.
    #[serde(deserialize_with = "stated")]
    #[schema(required)]
    pub until: Option<Moment>,
}

/// What a code is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TunnelOrPhone {
    /// A phone without an app, with a profile.
    Phone,
    /// A stock WireGuard or IKEv2 client.
    Tunnel,
}

/// Makes a new member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddMember {
    /// What it is called.
    pub name: Name,
    /// What its code is for.
    pub kind: TunnelOrPhone,
}

/// Makes another code for a member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MemberCode {
    /// Whose.
    pub key: Key,
    /// What it is for.
    pub kind: TunnelOrPhone,
}

/// Which member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MemberKey {
    /// The key of its certificate.
    pub key: Key,
}

/// How much the household gives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Limits {
    /// What it gives away in a day to those to whom it owes nothing.
    pub allowance_bytes_per_day: Sum,
    /// What a team that is new here is believed to have given.
    pub founding_bytes: Sum,
    /// What it lends in all.
    pub lend_bytes_max: Sum,
    /// Whether it reserves along chains of debts.
    pub hold: bool,
}

/// Tries limits on what has happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DryRunSettings {
    /// The limits to be tried.
    #[serde(flatten)]
    pub limits: Limits,
    /// On so many days.
    pub days: Count,
}

/// A picture to scan. What it holds works once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Code {
    /// The picture's path: `/v1/codes/` and a name that nobody can guess.
    pub image: String,
    /// The same as an address; `null` where it is none.
    pub link: Option<String>,
    /// Until when it works.
    pub until: Moment,
}

/// How many sessions and bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Part {
    /// Sessions.
    pub sessions: Count,
    /// Bytes, both ways.
    pub bytes: Sum,
}

/// What would have been served in one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DryRunRow {
    /// The class; `null`: refused.
    pub class: Option<Class>,
    /// With the limits in force.
    pub before: Part,
    /// With those that are tried.
    pub after: Part,
}

/// A team that would have been served otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DryRunChange {
    /// Which.
    pub team: Team,
    /// How it was served; `null`: not at all.
    pub before: Option<Class>,
    /// How it would have been.
    pub after: Option<Class>,
    /// How much it asked for.
    pub bytes: Sum,
}

/// What limits would have done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DryRun {
    /// Since when.
    pub since: Moment,
    /// Whether the store still has everything since then.
    pub complete: bool,
    /// By class.
    pub rows: Vec<DryRunRow>,
    /// Teams for which something would be different.
    pub changed: Vec<DryRunChange>,
}

/// Where a dry run is. One that runs is asked for again until it is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum DryRunAnswer {
    /// So many sessions of so many were decided again; of nothing: it has just begun.
    Running { done: Count, of: Count },
    /// What would have been.
    Done(DryRun),
}

/// Who is not served.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Blocked {
    /// A team, or `null`.
    pub team: Option<Team>,
    /// A device, or `null`.
    pub mac: Option<Name>,
    /// Since when.
    pub since: Moment,
}

/// What is set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SettingsAnswer {
    /// The limits in force.
    pub settings: Limits,
    /// Who is not served.
    pub blocked: Vec<Blocked>,
}

/// What came of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Done,
    Code(Code),
    DryRun(DryRunAnswer),
}

impl Answer {
    /// As JSON; nothing where it was just done.
    pub(crate) fn to_json(&self) -> String {
        let text = match self {
            Self::Done => return String::new(),
            Self::Code(code) => serde_json::to_string(code),
            Self::DryRun(run) => serde_json::to_string(run),
        };
        text.expect("numbers and texts can be written")
    }
}

impl Action {
    /// Reads what was posted at a path.
    ///
    /// # Errors
    ///
    /// There is no such path, or the JSON is not what belongs there.
    pub fn parse(path: &str, body: &[u8]) -> Result<Self, Refusal> {
        Ok(match path {
            "/v1/guests/end" => Self::EndGuest(read(body)?),
            "/v1/block" => Self::Block(Block::checked(read(body)?)?),
            "/v1/everybody" => Self::Everybody(read(body)?),
            "/v1/members/add" => Self::AddMember(read(body)?),
            "/v1/members/code" => Self::MemberCode(read(body)?),
            "/v1/members/renew" => Self::RenewMember(read(body)?),
            "/v1/members/revoke" => Self::RevokeMember(read(body)?),
            "/v1/settings/dry-run" => Self::DryRun(read(body)?),
            "/v1/settings" => Self::Set(read(body)?),
            _ => return Err(Refusal::Unknown),
        })
    }
}

impl Block {
    fn checked(self) -> Result<Self, Refusal> {
        if self.team.is_some() == self.mac.is_some() {
            return Err(Refusal::Invalid("Exactly one of a team and a device is blocked.".to_owned()));
        }
        Ok(self)
    }
}

/// `null` where it is meant: what is missing is a mistake, and no `null`.
fn stated<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    Option::deserialize(deserializer)
}

fn read<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, Refusal> {
    serde_json::from_slice(body).map_err(|error| Refusal::Invalid(format!("This cannot be read: {error}.")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "0123456789abcdef0123456789abcdef0123456789abcdef";

    #[test]
    fn each_action_of_the_page_is_read() {
        let limits = r#""allowance_bytes_per_day":1,"founding_bytes":2,"lend_bytes_max":3,"hold":true"#;
        #[rustfmt::skip]
        let cases = [
            ("/v1/guests/end",       format!(r#"{{"access_point":"{KEY}","id":"7d"}}"#)),
            ("/v1/block",            format!(r#"{{"team":"{KEY}","mac":null,"blocked":true}}"#)),
            ("/v1/everybody",        r#"{"until":null}"#.to_owned()),
            ("/v1/members/add",      r#"{"name":"Ida","kind":"phone"}"#.to_owned()),
            ("/v1/members/code",     format!(r#"{{"key":"{KEY}","kind":"tunnel"}}"#)),
            ("/v1/members/renew",    format!(r#"{{"key":"{KEY}"}}"#)),
            ("/v1/members/revoke",   format!(r#"{{"key":"{KEY}"}}"#)),
            ("/v1/settings/dry-run", format!(r#"{{{limits},"days":30}}"#)),
            ("/v1/settings",         format!("{{{limits}}}")),
        ];
        for (path, body) in cases {
            Action::parse(path, body.as_bytes()).unwrap_or_else(|error| panic!("{path}: {error:?}"));
            for wrong in ["", "{}", "[]", "null", &body[1..]] {
                let refused = Action::parse(path, wrong.as_bytes());
                assert!(matches!(refused, Err(Refusal::Invalid(_))), "{path} {wrong}: {refused:?}");
            }
        }
        assert_eq!(Action::parse("/v1/session", b"{}"), Err(Refusal::Unknown));
    }

    #[test]
    fn a_block_is_of_one_thing() {
        for wrong in [
            r#"{"team":null,"mac":null,"blocked":true}"#.to_owned(),
            format!(r#"{{"team":"{KEY}","mac":"02:00:5e:10:00:15","blocked":true}}"#),
        ] {
            assert!(
                matches!(Action::parse("/v1/block", wrong.as_bytes()), Err(Refusal::Invalid(_))),
                "{wrong}"
            );
        }
    }
}
