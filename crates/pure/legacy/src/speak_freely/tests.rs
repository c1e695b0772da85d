mod calls;
mod hostile;
mod layout;
mod weak;

use super::{Cipher, Config, Form, Protocol, SpeakFreely};
use crate::testing::{Feed, address};
use guestright_units::{Seed, Time};
use guestright_voice::tool::{Side, Tool};

const PHRASE: &str = "correct horse";

fn config(end: usize, form: Form, protocol: Protocol, cipher: Cipher) -> Config {
    let side = if end == 0 { Side::Caller { to: address(1) } } else { Side::Callee };
    let name = ["alice", "bob"][end].to_owned();
    Config { cipher, name, phrase: PHRASE.to_owned().into(), ..Config::new(side, form, protocol) }
}

fn tool(config: Config, seed: u64) -> SpeakFreely {
    SpeakFreely::new(config, &Seed::from_number(seed), Time(0)).unwrap()
}

fn pair(
    form: Form,
    protocol: Protocol,
    cipher: Cipher,
    change: impl Fn(Config) -> Config,
) -> [Box<dyn Tool>; 2] {
    [0, 1].map(|end| {
        let config = change(config(end, form, protocol, cipher));
        Box::new(tool(config, end as u64)) as Box<dyn Tool>
    })
}

fn feed(form: Form, protocol: Protocol, frames: u32) -> Feed {
    let samples = form.packet_samples(protocol);
    let duration = Config::new(Side::Callee, form, protocol).packet();
    Feed { bytes: form.codec_bytes(samples), duration, frames }
}

/// Whatever the tool can do.
fn all() -> impl Iterator<Item = (Form, Protocol, Cipher)> {
    let own = Form::ALL
        .into_iter()
        .flat_map(|form| Cipher::ALL.into_iter().map(move |cipher| (form, Protocol::Own, cipher)));
    let rtp = [Form::Gsm, Form::Adpcm]
        .into_iter()
        .flat_map(|form| [Cipher::None, Cipher::Des].map(|cipher| (form, Protocol::Rtp, cipher)));
    own.chain(rtp)
}
