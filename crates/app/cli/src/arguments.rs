//! What a person typed, with a fitting word where a number is below 0.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error, Parser};
use std::ffi::OsString;

/// The arguments of this process. Ends it where they are wrong, or ask for help.
#[must_use]
pub fn parse<T: Parser>() -> T {
    try_parse(std::env::args_os()).unwrap_or_else(|error| error.exit())
}

/// `-5` is a value wherever a value is expected, and not an option that nobody knows.
///
/// # Errors
/// clap's, or in place of "invalid digit found in string" that the number cannot be below 0.
pub fn try_parse<T: Parser>(
    words: impl IntoIterator<Item = impl Into<OsString> + Clone>,
) -> Result<T, Error> {
    let mut command = with_negative_numbers(T::command());
    let matches = command.try_get_matches_from_mut(words).map_err(|error| fitting(error, &mut command))?;
    T::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

fn with_negative_numbers(command: Command) -> Command {
    let allow = |arg: clap::Arg| {
        let takes_value = arg.get_action().takes_values();
        if takes_value { arg.allow_negative_numbers(true) } else { arg }
    };
    command.mut_args(allow).mut_subcommands(with_negative_numbers)
}

fn fitting(error: Error, command: &mut Command) -> Error {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    let (value, argument) = (text(ContextKind::InvalidValue), text(ContextKind::InvalidArg));
    let (Some(value), Some(argument)) = (value, argument) else { return error };
    let is_negative = value.parse::<f64>().is_ok_and(|number| number < 0.0);
    // What the integers of the standard library say of a minus sign.
    let is_unfit = error.to_string().contains("invalid digit found in string");
    if error.kind() == ErrorKind::ValueValidation && is_negative && is_unfit {
        let words =
            format!("invalid value '{value}' for '{argument}': it is a number that cannot be below 0");
        return command.error(ErrorKind::ValueValidation, words);
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Cli {
        #[command(subcommand)]
        command: Sub,
    }

    #[derive(Debug, clap::Subcommand)]
    enum Sub {
        Do {
            #[arg(long)]
            seconds: Option<u64>,
            #[arg(long, value_parser = clap::value_parser!(u16).range(1..=9))]
            threads: Option<u16>,
            #[arg(long)]
            shift: Option<f64>,
            #[arg(long)]
            flag: bool,
            name: Option<String>,
        },
    }

    fn words(line: &str) -> String {
        let line = format!("program do {line}");
        try_parse::<Cli>(line.split_whitespace()).unwrap_err().to_string()
    }

    #[test]
    fn a_number_below_zero_is_a_value() {
        let line = ["program", "do", "--shift", "-2.5", "--flag", "-7"];
        let Sub::Do { shift, flag, name, .. } = try_parse::<Cli>(line).unwrap().command;
        assert_eq!((shift, flag, name.as_deref()), (Some(-2.5), true, Some("-7")));
    }

    #[test]
    fn where_it_cannot_be_the_words_say_why() {
        let below = words("--seconds -5");
        assert!(
            below.contains("'-5' for '--seconds <SECONDS>': it is a number that cannot be below 0"),
            "{below}"
        );
        assert!(words("--threads -5").contains("-5 is not in 1..=9"), "{}", words("--threads -5"));
        for line in ["--seconds -5", "--threads -5"] {
            assert!(!words(line).contains("unexpected argument"), "{line}");
        }
        assert!(words("--seconds x").contains("invalid digit"), "{}", words("--seconds x"));
        assert!(words("--nothing").contains("unexpected argument '--nothing'"));
    }
}
