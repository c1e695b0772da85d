//! The page that was built of `web/`, compressed within the program.

use bytes::Bytes;
use flate2::read::GzDecoder;
use guestright_web::{Accepts, Encoding, File};
use std::io::Read as _;

pub(crate) struct Embedded {
    path: &'static str,
    digest: &'static str,
    gzip: &'static [u8],
}

include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// A file of these, as the client takes it. `/` is `/index.html`.
pub(crate) fn find(files: &[Embedded], path: &str, accepts: Accepts) -> Option<File> {
    let path = if path == "/" { "/index.html" } else { path };
    let file = files.iter().find(|file| file.path == path)?;
    let content_type = content_type(path);
    let Embedded { digest, gzip, .. } = file;
    Some(if accepts.gzip {
        let content = Bytes::from_static(gzip);
        File { content_type, etag: format!("\"{digest}-gzip\""), encoding: Encoding::Gzip, content }
    } else {
        // Every browser takes gzip; this is for programs.
        let mut content = Vec::new();
        GzDecoder::new(*gzip).read_to_end(&mut content).ok()?;
        File {
            content_type,
            etag: format!("\"{digest}\""),
            encoding: Encoding::Plain,
            content: content.into(),
        }
    })
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, end)| end) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some(_) | None => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write as _;

    #[test]
    fn a_file_is_the_same_compressed_or_not() {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
        gzip.write_all(b"<!doctype html>").unwrap();
        let gzip = gzip.finish().unwrap().leak();
        let files = [Embedded { path: "/index.html", digest: "00", gzip }];
        let packed = find(&files, "/", Accepts { gzip: true, brotli: true }).unwrap();
        assert_eq!((packed.encoding, &packed.content[..]), (Encoding::Gzip, &gzip[..]));
        let plain = find(&files, "/index.html", Accepts::default()).unwrap();
        assert_eq!((plain.encoding, &plain.content[..]), (Encoding::Plain, &b"<!doctype html>"[..]));
        assert_ne!(packed.etag, plain.etag);
        assert!(find(&files, "/index", Accepts::default()).is_none());
    }

    #[test]
    fn whatever_is_embedded_can_be_read_and_has_a_type() {
        for file in FILES {
            let plain = find(FILES, file.path, Accepts::default()).unwrap();
            assert!(!plain.content.is_empty(), "{}", file.path);
            assert_ne!(plain.content_type, "application/octet-stream", "{}", file.path);
        }
        assert!(FILES.is_empty() || find(FILES, "/", Accepts::default()).is_some());
    }
}
