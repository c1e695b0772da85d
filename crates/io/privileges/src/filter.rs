//! System calls that are refused with EPERM, in this process and all its children (seccomp(2)).
//!
//! It is a list of what is refused, not of what is allowed. The filter holds for `nft`, `tc`, `ip`, `wg`, `conntrack`
//! and whatever they are linked with on Debian, Fedora or OpenWrt, and for SQLite, resolvers and allocators of two C
//! libraries: what all of those call nobody here can know, and a call that is missing from a list of allowed ones would
//! end an access point on the day of a library's update. What is refused are calls by which kernels have been broken
//! into and containers left, and of which none of these programs has any use. Units add systemd's list of what is
//! allowed (docs/systemd), and capabilities refuse most of it once more.

use std::collections::BTreeMap;

use rustix::io::Errno;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

use crate::{Needs, PrivilegesError};

/// Whatever their arguments are.
const ALWAYS: &[i64] = &[
    // Other processes' memory and state.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Large parts of the kernel that none of our programs uses.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_fanotify_init,
    libc::SYS_personality,
    libc::SYS_lookup_dcookie,
    libc::SYS_nfsservctl,
    libc::SYS_mbind,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    libc::SYS_set_mempolicy,
    // The kernel itself, and the computer.
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    KEXEC_FILE_LOAD,
    libc::SYS_reboot,
    libc::SYS_syslog,
    libc::SYS_acct,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_vhangup,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    // Other namespaces and other roots, and files by other ways than their paths.
    libc::SYS_setns,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
];

/// Calls of the PC, most of them of its past.
#[cfg(target_arch = "x86_64")]
const OF_PROCESSOR: &[i64] = &[
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
    libc::SYS_uselib,
    libc::SYS_ustat,
    libc::SYS_sysfs,
    libc::SYS__sysctl,
    libc::SYS_vserver,
    // Calls that x32 has under numbers of their own (arch/x86/entry/syscalls/syscall_64.tbl): `ptrace`, `kexec_load`,
    // `move_pages`, `process_vm_readv`, `process_vm_writev`.
    OTHER_NUMBERS | 521,
    OTHER_NUMBERS | 528,
    OTHER_NUMBERS | 533,
    OTHER_NUMBERS | 539,
    OTHER_NUMBERS | 540,
];
#[cfg(not(target_arch = "x86_64"))]
const OF_PROCESSOR: &[i64] = &[];

#[cfg(target_arch = "x86_64")]
const KEXEC_FILE_LOAD: i64 = libc::SYS_kexec_file_load;
/// Not every C library's list has it (asm-generic/unistd.h).
#[cfg(not(target_arch = "x86_64"))]
const KEXEC_FILE_LOAD: i64 = 294;

/// Mounting, which strongSwan's programs get a `/run` of their own by.
const MOUNT: [i64; 9] = [
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_mount_setattr,
];

/// All kinds of namespaces (linux/sched.h).
const NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWNET,
];
/// So many of them nobody makes. The others: strongSwan's programs have mounts of their own, and whether the kernel has
/// ESP is tried in a network of its own.
const NEVER_MADE: usize = 5;

/// The families of sockets that we and our children open. `ip` and `tc` speak netlink.
const FAMILIES: [i32; 4] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// Type for whoever reads from our terminal (ioctl_tty(2)).
const TYPING: [u64; 2] = [0x5412, 0x541c];

/// The second way to number calls on the PC (x32). Its calls would pass by a filter that knows the first only.
#[cfg(target_arch = "x86_64")]
const OTHER_NUMBERS: i64 = 0x4000_0000;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Puts the filter in force for all threads; false if this kernel is built without.
pub(crate) fn install(needs: Needs) -> Result<bool, PrivilegesError> {
    for (rules, answer) in [(refused_calls(needs), Errno::PERM), (unknown_calls(), Errno::NOSYS)] {
        let program = compile(rules, answer).map_err(|error| failed(&error))?;
        match seccompiler::apply_filter_all_threads(&program) {
            Ok(()) => {}
            Err(seccompiler::Error::Seccomp(error)) if is_lacking(&error) => return Ok(false),
            Err(error) => return Err(failed(&error)),
        }
    }
    Ok(true)
}

/// A kernel without filters knows the call not at all, or not this use of it.
fn is_lacking(error: &std::io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::NOSYS | Errno::INVAL))
}

fn failed(error: &seccompiler::Error) -> PrivilegesError {
    PrivilegesError::Refused { what: "filter system calls", reason: error.to_string() }
}

fn compile(rules: Rules, answer: Errno) -> Result<BpfProgram, seccompiler::Error> {
    let processor = std::env::consts::ARCH.try_into()?;
    let refuse = SeccompAction::Errno(answer.raw_os_error().unsigned_abs());
    Ok(SeccompFilter::new(with_other_numbers(rules), SeccompAction::Allow, refuse, processor)?.try_into()?)
}

/// By number: no rules for a call that is always refused, or those of which one has to hold.
fn refused_calls(needs: Needs) -> Rules {
    let mut rules: Rules = ALWAYS.iter().chain(OF_PROCESSOR).map(|call| (*call, Vec::new())).collect();
    let typing = TYPING.map(|request| rule(vec![condition(1, SeccompCmpOp::Eq, request)]));
    rules.insert(libc::SYS_ioctl, typing.into());
    rules.insert(libc::SYS_clone, namespaces(&NAMESPACES));
    if needs.strongswan {
        // Its programs are others' and open what sockets they like.
        rules.insert(libc::SYS_unshare, namespaces(&NAMESPACES[..NEVER_MADE]));
    } else {
        rules.insert(libc::SYS_unshare, namespaces(&NAMESPACES));
        rules.extend(MOUNT.map(|call| (call, Vec::new())));
        let none_of_ours = FAMILIES.map(|family| condition(0, SeccompCmpOp::Ne, bits(family)));
        rules.insert(libc::SYS_socket, vec![rule(none_of_ours.into())]);
    }
    rules
}

/// Calls whose flags lie in memory, where a filter cannot read. C libraries do without a call that is not there.
fn unknown_calls() -> Rules {
    [(libc::SYS_clone3, Vec::new())].into()
}

/// For flags in the first argument: one of these namespaces would be made.
fn namespaces(kinds: &[i32]) -> Vec<SeccompRule> {
    let is_set = |kind: &i32| condition(0, SeccompCmpOp::MaskedEq(bits(*kind)), bits(*kind));
    kinds.iter().map(|kind| rule(vec![is_set(kind)])).collect()
}

#[cfg(target_arch = "x86_64")]
fn with_other_numbers(rules: Rules) -> Rules {
    let mut all = rules.clone();
    all.extend(rules.into_iter().map(|(call, rules)| (call | OTHER_NUMBERS, rules)));
    all
}

#[cfg(not(target_arch = "x86_64"))]
fn with_other_numbers(rules: Rules) -> Rules {
    rules
}

fn condition(argument: u8, operation: SeccompCmpOp, value: u64) -> SeccompCondition {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operation, value)
        .expect("system calls have six arguments")
}

fn rule(conditions: Vec<SeccompCondition>) -> SeccompRule {
    SeccompRule::new(conditions).expect("it has a condition")
}

fn bits(flag: i32) -> u64 {
    u64::from(flag.cast_unsigned())
}
