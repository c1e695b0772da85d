use std::fs;

/// The most bytes that are read of the kernel's description of the processors.
const CPUINFO_MAX: usize = 64 << 10;

/// The computer that we run on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// The operating system's name, version and machine: `Linux 6.12.1 x86_64`.
    pub system: String,
    /// The processor's name, if the system tells it.
    pub processor: Option<String>,
    /// How many threads run at the same time.
    pub cores: usize,
}

impl Host {
    pub fn look() -> Self {
        let system = rustix::system::uname();
        let words = [system.sysname(), system.release(), system.machine()];
        let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let processor = fs::read("/proc/cpuinfo").ok().and_then(|bytes| {
            let start = &bytes[..bytes.len().min(CPUINFO_MAX)];
            processor(&String::from_utf8_lossy(start))
        });
        Self { system: words.join(" "), processor, cores }
    }
}

/// The processor's name: `model name` on x86 (proc(5)), `Model`, `Hardware` or `cpu model` elsewhere.
fn processor(cpuinfo: &str) -> Option<String> {
    let value = |name: &str| {
        let mut lines = cpuinfo.lines().filter_map(|line| line.split_once(':'));
        lines.find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim().to_owned())
    };
    let found = ["model name", "cpu model", "Model", "Hardware"].into_iter().find_map(value);
    found.filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_computer_has_a_system_and_a_core() {
        let host = Host::look();
        assert!(host.cores >= 1);
        assert!(host.system.split(' ').count() >= 3, "{host:?}");
    }

    #[test]
    fn processors_are_named_as_the_kernel_names_them() {
        let x86 = "processor\t: 0\nmodel name\t: Acme(R) 9\nflags : a b\n";
        assert_eq!(processor(x86).as_deref(), Some("Acme(R) 9"));
        assert_eq!(processor("system type : X\ncpu model : MIPS 24Kc\n").as_deref(), Some("MIPS 24Kc"));
        assert_eq!(processor("processor : 0\nmodel name :\n"), None);
    }
}
