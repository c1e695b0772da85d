use super::*;
use crate::HostName;
use guestright_identity::Suite;
use rand::SeedableRng;
use rand::rngs::StdRng;

pub(crate) const NOW: UnixSeconds = UnixSeconds(1_800_000_000);

/// A member with a home, for the tests of the whole crate.
pub(crate) struct Household {
    pub(crate) member: SecretKey,
    pub(crate) certificate: Certificate,
    pub(crate) home: KeyId,
}

impl Household {
    pub(crate) fn new(number: u64) -> Self {
        Self::of_suite(Suite::Ed25519, number)
    }

    pub(crate) fn of_suite(suite: Suite, number: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(number);
        let [team, member, home] = [(); 3].map(|()| SecretKey::generate(suite, &mut rng));
        let (from, to) = (NOW.minus(86_400), NOW.plus(365 * 86_400));
        let certificate = Certificate::issue(&team, member.public(), Role::Member, from, to);
        Self { member, certificate, home: home.public().id() }
    }

    pub(crate) fn id(&self) -> KeyId {
        self.member.public().id()
    }

    pub(crate) fn statement(&self, sequence: u64) -> Statement {
        Statement {
            home: self.home,
            home_team: self.certificate.team_id(),
            addresses: vec!["192.0.2.7:7275".parse().unwrap(), "[2001:db8::7]:7275".parse().unwrap()],
            sequence,
            not_before: NOW,
            not_after: NOW.plus(7 * 86_400),
        }
    }

    pub(crate) fn record(&self, sequence: u64) -> Record {
        self.sign(self.statement(sequence))
    }

    pub(crate) fn sign(&self, statement: Statement) -> Record {
        Record::sign(&self.member, &self.certificate, statement).unwrap()
    }
}

#[test]
fn three_short_messages_carry_it() {
    for suite in [Suite::Ed25519, Suite::EcdsaP256] {
        let household = Household::of_suite(suite, 1);
        let record = household.record(NOW.0);
        assert!((300..=312).contains(&record.as_bytes().len()), "{suite}: {}", record.as_bytes().len());
        assert_eq!(Record::parse(record.as_bytes()), Ok(record.clone()));
        let largest = Statement {
            addresses: (0..4)
                .map(|n| format!("{}{n}.example:65535", "abcdefg.".repeat(11)).parse().unwrap())
                .collect(),
            home_team: TeamId([9; 24]),
            sequence: u64::MAX,
            ..household.statement(1)
        };
        let refused = Record::sign(&household.member, &household.certificate, largest.clone());
        assert!(matches!(refused, Err(RecordError::Refused(IdentityError::TooLong { max: 640, .. }))));
        let fits = Statement { addresses: largest.addresses[..2].to_vec(), ..largest };
        let record = household.sign(fits.clone());
        assert_eq!(Record::parse(record.as_bytes()).unwrap().statement(), &fits);
    }
}

#[test]
fn any_changed_bit_is_refused() {
    let record = Household::new(1).record(1);
    let bytes = record.as_bytes();
    for bit in 0..bytes.len() * 8 {
        let mut changed = bytes.to_vec();
        changed[bit / 8] ^= 1 << (bit % 8);
        assert!(Record::parse(&changed).is_err(), "bit {bit}");
    }
    for length in 0..bytes.len() {
        assert!(Record::parse(&bytes[..length]).is_err(), "{length} bytes");
    }
    assert!(Record::parse(&[bytes, &[0]].concat()).is_err());
}

#[test]
fn statements_that_cannot_be_are_refused() {
    let household = Household::new(1);
    let good = household.statement(1);
    let sign = |statement| Record::sign(&household.member, &household.certificate, statement).unwrap_err();
    let one = good.addresses[0].clone();
    let with = |addresses| sign(Statement { addresses, ..good.clone() });
    assert_eq!(with(vec![]), RecordError::Addresses { got: 0, max: 4 });
    assert_eq!(with(vec![one.clone(), one]), RecordError::Addresses { got: 2, max: 4 });
    let five = (1..=5).map(|n| format!("192.0.2.{n}").parse().unwrap()).collect();
    assert_eq!(with(five), RecordError::Addresses { got: 5, max: 4 });
    let ends = |not_after| sign(Statement { not_after, ..good.clone() });
    assert!(matches!(ends(NOW.minus(1)), RecordError::Life { .. }));
    assert!(matches!(ends(NOW.plus(Record::LIFE_MAX + 1)), RecordError::Life { .. }));
    let other = Household::new(2);
    let refused = Record::sign(&other.member, &household.certificate, good.clone());
    assert!(matches!(refused, Err(RecordError::NotCertified { .. })));
    let home = SecretKey::generate(Suite::Ed25519, &mut StdRng::seed_from_u64(3));
    let role = Certificate::issue(&home, home.public(), Role::Home, NOW, NOW.plus(10));
    assert!(matches!(
        Record::sign(&home, &role, good),
        Err(RecordError::Refused(IdentityError::WrongRole { .. }))
    ));
}

/// What parse must refuse although it is signed: the same thing written in another way.
#[test]
fn there_is_one_way_to_write_a_record() {
    let household = Household::new(1);
    let record = household.record(1);
    let payload = |change: &dyn Fn(&mut Vec<Value>)| {
        let mut items = cose::open(record.as_bytes(), 640).unwrap().items;
        change(&mut items);
        Record::parse(&cose::seal(&household.member, DOMAIN, &[], items))
    };
    assert_eq!(payload(&|_| {}), Ok(record.clone()));
    let team = household.certificate.team_id().0.to_vec();
    assert_eq!(
        payload(&|items| items[2] = Value::Bytes(team.clone())),
        Err(IdentityError::NotCanonical.into())
    );
    let address = |host: Value| Value::Array(vec![Value::Array(vec![host, Value::from(1)])]);
    let capital = address(Value::Text("Home.example".into()));
    assert_eq!(payload(&|items| items[3] = capital.clone()), Err(IdentityError::NotCanonical.into()));
    let mapped = address(Value::Bytes(std::net::Ipv4Addr::LOCALHOST.to_ipv6_mapped().octets().to_vec()));
    assert_eq!(payload(&|items| items[3] = mapped.clone()), Err(crate::AddressError::Mapped.into()));
    assert!(payload(&|items| items.push(Value::from(1))).is_err());
    let other =
        cose::seal(&household.member, "receipt", &[], cose::open(record.as_bytes(), 640).unwrap().items);
    assert_eq!(Record::parse(&other), Err(IdentityError::BadSignature.into()), "signed for another purpose");
}

#[test]
fn a_record_counts_between_its_seconds() {
    let household = Household::new(1);
    let record = household.record(1);
    assert_eq!(record.check(NOW), Ok(()));
    assert_eq!(record.check(NOW.minus(Record::SKEW)), Ok(()));
    assert!(matches!(record.check(NOW.minus(Record::SKEW + 1)), Err(RecordError::NotYet { .. })));
    assert_eq!(record.check(record.ends()), Ok(()));
    assert!(matches!(record.check(record.ends().plus(1)), Err(RecordError::Ended { .. })));
    let mut rng = StdRng::seed_from_u64(9);
    let team = SecretKey::generate(Suite::Ed25519, &mut rng);
    let issue = |from, to| Certificate::issue(&team, household.member.public(), Role::Member, from, to);
    let brief = issue(NOW, NOW.plus(100));
    let record = Record::sign(&household.member, &brief, household.statement(1)).unwrap();
    assert_eq!(record.ends(), NOW.plus(100));
    assert!(matches!(record.check(NOW.plus(101)), Err(RecordError::Refused(IdentityError::Expired { .. }))));
    assert_eq!(record.check(NOW.minus(200)), Ok(()), "the team's clock may be ahead as well");
}

#[test]
fn the_higher_sequence_counts_and_of_one_the_greater_bytes() {
    let household = Household::new(1);
    let [first, second] = [1, 2].map(|sequence| household.record(sequence));
    assert!(second.replaces(&first) && !first.replaces(&second) && !first.replaces(&first));
    let address = vec![
        crate::Address::new(crate::Host::Name(HostName::new("other.example").unwrap()), crate::LINK_PORT)
            .unwrap(),
    ];
    let twin = household.sign(Statement { addresses: address, ..household.statement(1) });
    assert_ne!(twin.replaces(&first), first.replaces(&twin));
    assert!(!Household::new(2).record(9).replaces(&first), "another member's");
}
