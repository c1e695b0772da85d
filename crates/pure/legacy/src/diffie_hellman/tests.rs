//! Against the RFCs, against arithmetic that is done otherwise, and against what an attacker would send.

use super::*;
use data_encoding::HEXLOWER;
use rand::SeedableRng as _;
use rand_chacha::ChaCha20Rng;

fn number(bytes: &[u8], bits: u32) -> BoxedUint {
    BoxedUint::from_be_slice(bytes, bits).expect("fits")
}

fn hex(bytes: &[u8]) -> String {
    HEXLOWER.encode(bytes)
}

/// Fermat's test to the base 2: no composite number passes it by chance at these lengths.
fn is_probable_prime(n: &BoxedUint) -> bool {
    let odd = Odd::new(n.clone()).into_option().expect("odd");
    let bits = n.bits_precision();
    let params = BoxedMontyParams::new_vartime(odd);
    let two = BoxedMontyForm::new(BoxedUint::from_be_slice_truncated(&[2], bits), &params);
    let less = n.wrapping_sub(BoxedUint::one_with_precision(bits));
    two.pow(&less).retrieve() == BoxedUint::one_with_precision(bits)
}

/// The longest take too long without optimisation; they are made as the others are, and the next test reads their digits.
#[test]
fn primes_are_safe() {
    for prime in Prime::ALL.into_iter().filter(|prime| !cfg!(debug_assertions) || prime.bits() <= 1_024) {
        let p = number(&prime.to_bytes(), prime.bits());
        assert_eq!(p.bits(), prime.bits(), "{prime:?}");
        assert!(is_probable_prime(&p), "{prime:?}");
        assert!(is_probable_prime(&p.shr(1)), "({prime:?} - 1) / 2");
    }
}

#[test]
fn primes_are_those_of_the_documents() {
    let ends = [
        (Prime::Oakley768, "625e7ec6f44c42e9a63a3620ffffffffffffffff"),
        (Prime::Oakley1024, "7c4b1fe649286651ece65381ffffffffffffffff"),
        (Prime::Oakley1536, "4abc9804f1746c08ca237327ffffffffffffffff"),
        (Prime::Oakley2048, "98fa051015728e5a8aacaa68ffffffffffffffff"),
        (Prime::Oakley3072, "e0fd108e4b82d120a93ad2caffffffffffffffff"),
        (Prime::Oakley4096, "90a6c08f4df435c934063199ffffffffffffffff"),
        // The two of 1024 and 2048 bits are also those of SKIP ("Assigned Numbers for SKIP Protocols").
        (Prime::PgpFone1024, "419f9c7cbd894b221926baaba25ec355e92f78c7"),
        (Prime::PgpFone2048, "419f9c7cbd894b221926baaba25ec355e9320b3b"),
    ];
    for (prime, end) in ends {
        let digits = hex(&prime.to_bytes());
        assert!(digits.ends_with(end), "{prime:?} ends in {}", &digits[digits.len() - end.len()..]);
        let beginning = if prime == Prime::PgpFone1024 {
            "f488fd584e49dbcd20b49de49107366b"
        } else if prime == Prime::PgpFone2048 {
            "f64257b7087f081772a2bad6a942f305"
        } else {
            "ffffffffffffffffc90fdaa22168c234c4c6628b80dc1cd1"
        };
        assert!(digits.starts_with(beginning), "{prime:?} begins with {}", &digits[..32]);
    }
}

/// Pi by Machin's formula, in whole numbers: 16 arctan(1/5) - 4 arctan(1/239).
#[test]
fn the_digits_of_pi_are_those() {
    const GUARD: u32 = 64;
    let bits = 3_966;
    let one = BoxedUint::one_with_precision(4_096).shl(bits + GUARD);
    let arctan = |x: u32| {
        let divide = |n: &BoxedUint, d: u32| {
            let divisor = BoxedUint::from(u64::from(d));
            n.div_rem(&divisor.to_nz().into_option().expect("not 0")).0
        };
        let mut power = divide(&one, x);
        let (mut sum, mut k) = (power.clone(), 1);
        while bool::from(power.is_nonzero()) {
            power = divide(&power, x * x);
            let term = divide(&power, 2 * k + 1);
            sum = if k % 2 == 1 { sum.wrapping_sub(&term) } else { sum.wrapping_add(&term) };
            k += 1;
        }
        sum
    };
    let pi = arctan(5).shl(4).wrapping_sub(arctan(239).shl(2)).shr(GUARD);
    let digits = pi.to_be_bytes();
    assert_eq!(hex(&digits[digits.len() - PI.len()..]), hex(&PI));
}

#[test]
fn both_sides_know_the_same() {
    for prime in [Prime::Oakley768, Prime::PgpFone768, Prime::PgpFone1024] {
        let mut rng = ChaCha20Rng::seed_from_u64(7);
        let (one, other) = (Secret::generate(prime, &mut rng), Secret::generate(prime, &mut rng));
        let read = |secret: &Secret| Public::parse(prime, secret.public().as_bytes()).expect("a good value");
        let (here, there) =
            (one.agree(&read(&other)).expect("same prime"), other.agree(&read(&one)).expect("same prime"));
        assert_eq!(here.as_bytes(), there.as_bytes());
        assert_eq!(here.as_bytes().len(), prime.byte_len());
        assert_ne!(one.public(), other.public());
    }
}

/// The power by squaring and multiplying with ordinary division.
fn slow_power(prime: Prime, base: &[u8], exponent: &[u8]) -> Vec<u8> {
    let bits = prime.bits();
    let modulus = number(&prime.to_bytes(), bits).to_nz().into_option().expect("not 0");
    let base = BoxedUint::from_be_slice_truncated(base, bits);
    let mut result = BoxedUint::one_with_precision(bits);
    for byte in exponent {
        for bit in (0..8).rev() {
            result = result.mul_mod(&result, &modulus);
            if byte >> bit & 1 == 1 {
                result = result.mul_mod(&base, &modulus);
            }
        }
    }
    result.to_be_bytes().into_vec()
}

#[test]
fn the_power_is_the_power() {
    let prime = Prime::PgpFone768;
    for exponent in [&[0, 0, 0][..], &[1], &[2], &[0, 5, 1], &[0xff; 5], &[0x80, 0, 0, 0, 0, 0, 0, 0, 1]] {
        for base in [&[2][..], &[3], &[0xfe; 96]] {
            assert_eq!(power(prime, base, exponent)[..], slow_power(prime, base, exponent)[..]);
        }
    }
}

#[test]
fn what_gives_a_known_secret_is_refused() {
    for prime in Prime::ALL {
        let p = prime.to_bytes();
        let mut less = p.clone();
        *less.last_mut().expect("long") -= 1;
        let mut small = vec![0; prime.byte_len()];
        let refused = Err(DiffieHellmanError::OutOfRange);
        assert_eq!(Public::parse(prime, &small), refused);
        *small.last_mut().expect("long") = 1;
        assert_eq!(Public::parse(prime, &small), refused);
        assert_eq!(Public::parse(prime, &less), refused);
        assert_eq!(Public::parse(prime, &p), refused);
        assert_eq!(Public::parse(prime, &vec![0xff; prime.byte_len()]), refused);
        *small.last_mut().expect("long") = 2;
        assert!(Public::parse(prime, &small).is_ok());
        *less.last_mut().expect("long") -= 1;
        assert!(Public::parse(prime, &less).is_ok());
        let short = Err(DiffieHellmanError::Length { got: prime.byte_len() - 1, want: prime.byte_len() });
        assert_eq!(Public::parse(prime, &p[1..]), short);
    }
}

#[test]
fn exponents_have_the_length_that_they_should() {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    for prime in [Prime::PgpFone768, Prime::Oakley768] {
        for _ in 0..4 {
            let secret = Secret::generate(prime, &mut rng);
            let bits = number(&secret.exponent, u32::try_from(secret.exponent.len() * 8).unwrap()).bits();
            assert_eq!(bits, prime.exponent_bits());
        }
    }
    // Lengths that are no whole bytes: 404 and 458 bits.
    for prime in [Prime::PgpFone3072, Prime::PgpFone4096] {
        assert_ne!(prime.exponent_bits() % 8, 0);
    }
}

#[test]
fn another_prime_is_no_match() {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let ours = Secret::generate(Prime::PgpFone768, &mut rng);
    let theirs = Secret::generate(Prime::Oakley768, &mut rng);
    let error = ours.agree(theirs.public()).err();
    assert_eq!(
        error,
        Some(DiffieHellmanError::OtherPrime { ours: Prime::PgpFone768, theirs: Prime::Oakley768 })
    );
}

#[test]
fn nothing_secret_is_printed() {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let secret = Secret::generate(Prime::PgpFone768, &mut rng);
    let shared = secret.agree(Secret::generate(Prime::PgpFone768, &mut rng).public()).expect("same prime");
    assert_eq!(format!("{secret:?} {shared:?}"), "Secret { prime: PgpFone768, .. } Shared(..)");
}
