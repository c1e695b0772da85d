//! One option's text, as what is wanted.

use super::ReadError;
use crate::document::{Entry, Item, Value};
use crate::error::{Problem, UciError};
use serde::de::value::{Error as PlainError, SeqDeserializer};
use serde::de::{EnumAccess, IntoDeserializer, VariantAccess, Visitor};
use serde::forward_to_deserialize_any;
use std::str::FromStr;

/// An option, or an entry of a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text<'a> {
    name: &'a str,
    line: usize,
    text: &'a str,
}

impl<'a> Text<'a> {
    /// Of an option; a list is refused.
    pub(super) fn of(entry: &'a Entry) -> Result<Self, UciError> {
        match &entry.value {
            Value::One(text) => Ok(Self { name: &entry.name, line: entry.line, text }),
            Value::List(_) => Err(Problem::NotAList(entry.name.clone()).at(entry.line)),
        }
    }

    /// Yes and no in UCI's words (`config_get_bool` of OpenWrt's functions.sh).
    pub(super) fn boolean(self) -> Result<bool, UciError> {
        match self.text {
            "1" | "on" | "true" | "yes" | "enabled" => Ok(true),
            "0" | "off" | "false" | "no" | "disabled" => Ok(false),
            _ => Err(self.bad("write 1 or 0")),
        }
    }

    fn bad(self, want: &str) -> UciError {
        let (name, got) = (self.name.to_owned(), self.text.to_owned());
        Problem::BadValue { name, got, want: want.to_owned() }.at(self.line)
    }

    fn number<N: FromStr>(self, want: &str) -> Result<N, ReadError> {
        self.text.parse().map_err(|_| self.bad(want).into())
    }

    /// What serde reports of a value that has its type's form and is still wrong.
    fn refused(self, error: ReadError) -> ReadError {
        error.at(self.name, self.line)
    }
}

macro_rules! numbers {
    ($($method:ident $visit:ident $number:ident $want:expr;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
            let number: $number = self.number($want)?;
            visitor.$visit(number).map_err(|error| self.refused(error))
        }
    )*};
}

impl<'de> serde::Deserializer<'de> for Text<'_> {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_str(self.text).map_err(|error| self.refused(error))
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_bool(self.boolean()?)
    }

    numbers! {
        deserialize_u8 visit_u8 u8 "write a whole number, 0 to 255";
        deserialize_u16 visit_u16 u16 "write a whole number, 0 to 65535";
        deserialize_u32 visit_u32 u32 "write a whole number, 0 to 4294967295";
        deserialize_u64 visit_u64 u64 "write a whole number";
        deserialize_i8 visit_i8 i8 "write a whole number, -128 to 127";
        deserialize_i16 visit_i16 i16 "write a whole number, -32768 to 32767";
        deserialize_i32 visit_i32 i32 "write a whole number";
        deserialize_i64 visit_i64 i64 "write a whole number";
        deserialize_f32 visit_f32 f32 "write a number";
        deserialize_f64 visit_f64 f64 "write a number";
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        visitor.visit_enum(Word(self.text)).map_err(|error| self.refused(error))
    }

    forward_to_deserialize_any! {
        i128 u128 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

impl<'de> IntoDeserializer<'de, ReadError> for Text<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// One of an enum's words.
struct Word<'a>(&'a str);

impl<'de, 'a> EnumAccess<'de> for Word<'a> {
    type Error = ReadError;
    type Variant = Alone;

    fn variant_seed<S: serde::de::DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Alone), ReadError> {
        let word = serde::de::value::StrDeserializer::<'a, PlainError>::new(self.0);
        let variant = seed.deserialize(word).map_err(<ReadError as serde::de::Error>::custom)?;
        Ok((variant, Alone))
    }
}

/// A variant has nothing but its word.
struct Alone;

impl<'de> VariantAccess<'de> for Alone {
    type Error = ReadError;

    fn unit_variant(self) -> Result<(), ReadError> {
        Ok(())
    }

    fn newtype_variant_seed<S: serde::de::DeserializeSeed<'de>>(
        self,
        _seed: S,
    ) -> Result<S::Value, ReadError> {
        Err(more_than_a_word())
    }

    fn tuple_variant<V: Visitor<'de>>(self, _len: usize, _visitor: V) -> Result<V::Value, ReadError> {
        Err(more_than_a_word())
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        _visitor: V,
    ) -> Result<V::Value, ReadError> {
        Err(more_than_a_word())
    }
}

fn more_than_a_word() -> ReadError {
    serde::de::Error::custom("this needs more than an option can say")
}

/// An option or a list, as one value or several: an option is a list of one where several are wanted.
pub(super) struct EntryValue<'a>(pub(super) &'a Entry);

impl EntryValue<'_> {
    fn items(&self) -> Vec<Text<'_>> {
        let Entry { name, line, value } = self.0;
        match value {
            Value::One(text) => vec![Text { name, line: *line, text }],
            Value::List(items) => {
                items.iter().map(|Item { line, text }| Text { name, line: *line, text }).collect()
            }
        }
    }
}

macro_rules! as_text {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
            Text::of(self.0)?.$method(visitor)
        }
    )*};
}

impl<'de> serde::Deserializer<'de> for EntryValue<'_> {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match &self.0.value {
            Value::One(_) => Text::of(self.0)?.deserialize_any(visitor),
            Value::List(_) => self.deserialize_seq(visitor),
        }
    }

    as_text! {
        deserialize_bool deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_i8 deserialize_i16
        deserialize_i32 deserialize_i64 deserialize_f32 deserialize_f64 deserialize_str deserialize_string
        deserialize_char
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_seq(SeqDeserializer::<_, ReadError>::new(self.items().into_iter()))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        Text::of(self.0)?.deserialize_enum(name, variants, visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        i128 u128 bytes byte_buf unit unit_struct tuple tuple_struct map struct identifier
    }
}
