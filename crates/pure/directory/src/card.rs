//! Contact cards: `guestright:contact?…`, RFC 3986 with the fields of a query.

use crate::contact::{Contact, HomeHint};
use crate::{Address, CardError, HostName};
use guestright_identity::KeyId;
use guestright_units::TeamId;
use std::fmt::Write as _;

const SCHEME: &str = "guestright:contact?";

pub(crate) fn check_name(name: &str) -> Result<(), CardError> {
    let fits = (1..=Contact::NAME_MAX).contains(&name.chars().count());
    if !fits || name.chars().any(is_hidden) || name.trim() != name {
        return Err(CardError::Name { max: Contact::NAME_MAX });
    }
    Ok(())
}

/// Characters that cannot be seen or that turn the order of others around: a name is shown to people.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

pub(crate) fn emit(contact: &Contact) -> Result<String, CardError> {
    check_name(&contact.name)?;
    if contact.homes.len() > Contact::HOMES_MAX {
        return Err(CardError::Homes { max: Contact::HOMES_MAX });
    }
    let mut text = format!("{SCHEME}name={}&id={}", encode(&contact.name), contact.member);
    let mut field = |key: &str, value: &str| {
        // Writing to a string does not fail.
        let _ = write!(text, "&{key}={}", encode(value));
    };
    for home in &contact.homes {
        let key = home.key.map(|key| format!("{key}@")).unwrap_or_default();
        field("home", &format!("{key}{}", home.address));
    }
    if let Some(name) = &contact.dns {
        field("dns", name.as_str());
    }
    if let Some(number) = &contact.telephone {
        field("tel", &number.to_string());
    }
    check_length(&text)?;
    Ok(text)
}

pub(crate) fn parse(text: &str) -> Result<Contact, CardError> {
    check_length(text)?;
    let begins = text.get(..SCHEME.len()).is_some_and(|start| start.eq_ignore_ascii_case(SCHEME));
    let query = text.get(SCHEME.len()..).filter(|_| begins).ok_or(CardError::Scheme)?;
    let (mut name, mut member, mut dns, mut telephone, mut homes) = (None, None, None, None, Vec::new());
    for field in query.split('&') {
        let (key, value) = field.split_once('=').ok_or(CardError::Encoding)?;
        let value = decode(value)?;
        match key {
            "name" => once(&mut name, "name", value)?,
            "id" => once(&mut member, "id", key_id(&value)?)?,
            "dns" => {
                let host = HostName::new(&value).map_err(|error| CardError::Home(value, error))?;
                once(&mut dns, "dns", host)?;
            }
            "tel" => once(&mut telephone, "tel", value.parse()?)?,
            "home" if homes.len() < Contact::HOMES_MAX => homes.push(hint(&value)?),
            "home" => return Err(CardError::Homes { max: Contact::HOMES_MAX }),
            _ => return Err(CardError::Unknown(key.chars().take(32).collect())),
        }
    }
    let name = name.ok_or(CardError::Field("name"))?;
    check_name(&name)?;
    Ok(Contact { name, member: member.ok_or(CardError::Field("id"))?, homes, dns, telephone })
}

fn once<T>(slot: &mut Option<T>, field: &'static str, value: T) -> Result<(), CardError> {
    if slot.replace(value).is_some() {
        return Err(CardError::Field(field));
    }
    Ok(())
}

fn hint(text: &str) -> Result<HomeHint, CardError> {
    let (key, address) = match text.split_once('@') {
        Some((key, address)) => (Some(key_id(key)?), address),
        None => (None, text),
    };
    let address: Address = address.parse().map_err(|error| CardError::Home(address.to_owned(), error))?;
    Ok(HomeHint { address, key })
}

/// Key ids and team ids are written alike.
fn key_id(text: &str) -> Result<KeyId, CardError> {
    text.parse::<TeamId>().map(|id| KeyId(id.0)).map_err(|_| CardError::Member)
}

fn check_length(text: &str) -> Result<(), CardError> {
    let (got, max) = (text.chars().count(), Contact::CARD_MAX);
    if got > max { Err(CardError::TooLong { got, max }) } else { Ok(()) }
}

/// Percent-encoding of all but RFC 3986's unreserved characters and those that mean nothing in our queries.
fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~:@[]+".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

fn decode(text: &str) -> Result<String, CardError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || rest.next().and_then(|d| char::from(d).to_digit(16));
        let (high, low) = (digit().ok_or(CardError::Encoding)?, digit().ok_or(CardError::Encoding)?);
        bytes.push(u8::try_from(high << 4 | low).expect("two digits are a byte"));
    }
    String::from_utf8(bytes).map_err(|_| CardError::Encoding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn contact() -> Contact {
        Contact {
            name: "Büro & Söhne".to_owned(),
            member: KeyId([0xab; 24]),
            homes: vec![
                HomeHint { address: "home.example:7000".parse().unwrap(), key: None },
                HomeHint { address: "[2001:db8::1]:7275".parse().unwrap(), key: Some(KeyId([1; 24])) },
            ],
            dns: Some(HostName::new("office.example").unwrap()),
            telephone: Some("+1 (202) 555-0142".parse().unwrap()),
        }
    }

    #[test]
    fn a_card_is_a_text() {
        let id = "ab".repeat(24);
        let key = "01".repeat(24);
        let want = format!(
            "guestright:contact?name=B%C3%BCro%20%26%20S%C3%B6hne&id={id}&home=home.example:7000\
             &home={key}@[2001:db8::1]:7275&dns=office.example&tel=+12025550142"
        );
        assert_eq!(emit(&contact()), Ok(want.clone()));
        assert_eq!(parse(&want), Ok(contact()));
        assert_eq!(parse(&want.replace("guestright:contact", "GUESTRIGHT:CONTACT")), Ok(contact()));
        assert!(format!("{:?}", contact()).contains("…42"), "{:?}", contact());
        assert!(!format!("{:?}", contact()).contains("5550142"));
    }

    #[test]
    fn refuses_what_is_no_card() {
        let id = format!("id={}", "ab".repeat(24));
        let home = |text: &str| format!("{SCHEME}name=Jo&{id}&home={text}");
        #[rustfmt::skip]
        let cases = [
            ("https://home.example".to_owned(),                CardError::Scheme),
            ("guestright:contact".to_owned(),                  CardError::Scheme),
            (format!("{SCHEME}{id}"),                          CardError::Field("name")),
            (format!("{SCHEME}name=Jo"),                       CardError::Field("id")),
            (format!("{SCHEME}name=Jo&{id}&{id}"),             CardError::Field("id")),
            (format!("{SCHEME}name=Jo&id=abc"),                CardError::Member),
            (format!("{SCHEME}name=Jo&{id}&key=1"),            CardError::Unknown("key".to_owned())),
            (format!("{SCHEME}name=J%6&{id}"),                 CardError::Encoding),
            (format!("{SCHEME}name=J%zz&{id}"),                CardError::Encoding),
            (format!("{SCHEME}name=J%ff&{id}"),                CardError::Encoding),
            (format!("{SCHEME}name&{id}"),                     CardError::Encoding),
            (format!("{SCHEME}name=&{id}"),                    CardError::Name { max: 64 }),
            (format!("{SCHEME}name=J%0Ao&{id}"),               CardError::Name { max: 64 }),
            (format!("{SCHEME}name=J%E2%80%AEo&{id}"),         CardError::Name { max: 64 }), // Turns the order.
            (format!("{SCHEME}name={}&{id}", "a".repeat(65)),  CardError::Name { max: 64 }),
            (format!("{SCHEME}name=Jo&{id}&tel=0202555"),      CardError::Telephone),
            (format!("{SCHEME}name=Jo&{id}&tel=+1202555014255550"), CardError::Telephone),
            (home("a:0"),                    CardError::Home("a:0".to_owned(), crate::AddressError::Port)),
            (home("x@a:1"),                  CardError::Member),
            (home("a&home=b&home=c&home=d&home=e"), CardError::Homes { max: 4 }),
            (home(&"a".repeat(640)),         CardError::TooLong { got: 724, max: 640 }),
        ];
        for (text, want) in cases {
            assert_eq!(parse(&text), Err(want), "{text}");
        }
    }

    #[test]
    fn a_list_has_each_name_once() {
        let card = emit(&contact()).unwrap();
        let list = crate::Contacts::parse(&format!("# mine\n\n{card}\n")).unwrap();
        assert_eq!(list.get("büro & söhne"), Some(&contact()));
        assert_eq!(list.emit(), Ok(format!("{card}\n")));
        let twice = crate::Contacts::parse(&format!("{card}\n{}\n", card.replace("=B%C3%BC", "=b%C3%BC")));
        assert!(matches!(twice, Err(CardError::List { line: 2, .. })), "{twice:?}");
        let wrong = crate::Contacts::parse("\nhello").unwrap_err();
        assert_eq!(wrong.to_string(), "line 2: a contact card begins with \"guestright:contact?\"");
    }

    proptest! {
        #[test]
        fn parse_inverts_emit(name in "[ -~à-ž]{1,20}", id: [u8; 24], ip: u32, port in 1..=u16::MAX) {
            let mut contact = Contact { name, member: KeyId(id), ..contact() };
            if let Ok(address) = format!("{}:{port}", std::net::Ipv4Addr::from_bits(ip)).parse() {
                contact.homes.push(HomeHint { address, key: Some(KeyId(id)) });
            }
            if check_name(&contact.name).is_ok() {
                prop_assert_eq!(parse(&emit(&contact).unwrap()), Ok(contact));
            }
        }

        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,200}") {
            if let Ok(contact) = parse(&format!("{SCHEME}{text}")) {
                prop_assert_eq!(parse(&emit(&contact).unwrap()), Ok(contact));
            }
        }
    }
}
