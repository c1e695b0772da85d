//! A decision in a sentence for the person whom it concerns.

use super::{Basis, Decision, Verdict};
use crate::ServiceClass;
use guestright_units::Bytes;
use std::fmt;

impl Decision {
    /// Why the decision is what it is and, if it is a refusal, what to do about it.
    pub fn reason(&self) -> String {
        self.to_string()
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.verdict {
            Verdict::Granted(ServiceClass::Own) => f.write_str("Served")?,
            Verdict::Granted(class) => write!(f, "Served in the {class} class")?,
            Verdict::Refused => f.write_str("Refused")?,
        }
        self.because(f)?;
        if self.verdict == Verdict::Refused {
            f.write_str("; ")?;
            self.advice(f)?;
        }
        f.write_str(".")
    }
}

impl Decision {
    fn because(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.basis {
            Basis::OwnMember => f.write_str(" first of all, as a member of this household"),
            Basis::Stranger { owed_to_consumer, bootstrap, probability } => {
                match owed_to_consumer {
                    Bytes(0) => f.write_str(": nothing connects the two teams yet")?,
                    little => write!(f, ": no more than {little} is owed to this team here yet")?,
                }
                if bootstrap {
                    f.write_str(", and this household still needs credit of its own")
                } else {
                    write!(f, ", and strangers are served here with probability {probability}")
                }
            }
            Basis::GaveNothing { took } => {
                write!(
                    f,
                    ": this team took {took} from others, and no receipt says that it ever gave anything"
                )
            }
            Basis::Flow { .. } => self.because_of_flow(f),
            Basis::Quota { gave, quota } => write!(f, ": this team gave {gave} of the {quota} asked for"),
        }?;
        match self.ind {
            Some(ind) => write!(f, " (ratio {ind})"),
            None => Ok(()),
        }
    }

    fn because_of_flow(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Basis::Flow { owed_to_consumer, owed_by_consumer, request, gave, took, exact } = self.basis
        else {
            return Ok(());
        };
        let enough = owed_to_consumer >= owed_by_consumer.saturating_add(request);
        let least = if enough || !exact { "at least " } else { "" };
        let most = if exact { "" } else { "at most " };
        write!(
            f,
            ": directly and through others this household owes the team {least}{owed_to_consumer} and the team \
             owes {most}{owed_by_consumer} here"
        )?;
        if request > Bytes(0) {
            write!(f, ", before the {request} it asks for")?;
        }
        write!(f, "; in all it gave {gave} and took {took}")
    }

    fn advice(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.basis {
            Basis::Stranger { .. } => "try again later, or show receipts for service that the team gave",
            Basis::OwnMember | Basis::GaveNothing { .. } | Basis::Flow { .. } | Basis::Quota { .. } => {
                "it earns service by serving others at home, or by showing receipts not yet seen here"
            }
        })
    }
}
