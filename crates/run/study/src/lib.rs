//! Calls with BoAT and the telephone tools of 2003
