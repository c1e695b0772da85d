use super::*;
use proptest::prelude::*;

const ANSWER: &str = "HTTP/1.1 200 OK\r\nCACHE-CONTROL: max-age=120\r\nST: upnp:rootdevice\r\n\
    Location: http://192.168.1.1:5000/rootDesc.xml\r\nEXT:\r\n\r\n";

fn device_url() -> HttpUrl {
    HttpUrl { address: "192.168.1.1:5000".parse().unwrap(), path: "/rootDesc.xml".to_owned() }
}

fn description(control: &str) -> String {
    format!(
        "<?xml version=\"1.0\"?><root><device><serviceList><service><serviceType>urn:schemas-upnp-org:service:\
         WANCommonInterfaceConfig:1</serviceType><controlURL>/ctl/CmnIfCfg</controlURL></service><service>\
         <serviceType>urn:schemas-upnp-org:service:WANIPConnection:1</serviceType><controlURL>{control}</controlURL>\
         </service></serviceList></device></root>"
    )
}

#[test]
fn finds_the_router_and_its_service() {
    assert_eq!(parse_search_answer(ANSWER), Ok(device_url()));
    let service = parse_description(&description("/ctl/IPConn"), &device_url()).unwrap();
    assert_eq!(service.kind, "urn:schemas-upnp-org:service:WANIPConnection:1");
    assert_eq!(
        (service.control.address, service.control.path.as_str()),
        (device_url().address, "/ctl/IPConn")
    );
    let relative = parse_description(&description("ctl?a=1&amp;b=2"), &device_url()).unwrap();
    assert_eq!(relative.control.path, "/ctl?a=1&b=2");
    let whole = parse_description(&description("http://192.168.1.1:80/x"), &device_url()).unwrap();
    assert_eq!(whole.control.address.port(), 80);
}

#[test]
fn reads_xml_as_xml() {
    let quiet =
        description("/ctl").replace("<root>", "<root xmlns=\"urn:schemas-upnp-org:device-1-0\" a='1'>");
    let quiet = quiet.replace("<service>", "<service ><!-- <service></service> -->");
    assert_eq!(parse_description(&format!("\r\n{quiet}\0"), &device_url()).unwrap().control.path, "/ctl");
    let namespaced = "<m:R xmlns:m='urn:x'><NewExternalIPAddress xmlns:dt='urn:y' dt:dt='string'> 11.22.33.44\n\
        </NewExternalIPAddress></m:R>";
    assert_eq!(parse_address(200, namespaced), Ok(Ipv4Addr::new(11, 22, 33, 44)));
    // Entities of one's own are how a small text becomes a large one.
    let entities = "<!DOCTYPE x [<!ENTITY a '11.22.33.44'>]><NewExternalIPAddress>&a;</NewExternalIPAddress>";
    assert_eq!(parse_address(200, entities), Err(UpnpError::Missing("address")));
}

#[test]
fn nobody_is_called_but_the_router() {
    for control in
        ["http://192.168.1.2/x", "http://evil.example/x", "/a b", "/a\r\nHost: b", "https://192.168.1.1/"]
    {
        let refused = parse_description(&description(control), &device_url());
        // A relative path may begin with anything, but not leave the router.
        let stays = refused.as_ref().is_ok_and(|service| service.control.address == device_url().address);
        assert!(refused.is_err() || stays, "{control}: {refused:?}");
    }
    for location in ["http://name/x", "https://1.2.3.4/", "http://1.2.3.4:99999/", "http://1.2.3.4/\u{1}", ""]
    {
        let text = ANSWER.replace("http://192.168.1.1:5000/rootDesc.xml", location);
        assert_eq!(parse_search_answer(&text), Err(UpnpError::Missing("location")), "{location}");
    }
}

#[test]
fn reads_http_whole_in_chunks_and_cut() {
    let whole = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    assert_eq!(parse_http(whole), Ok((200, "hello".to_owned())));
    assert!(is_complete(whole) && !is_complete(&whole[..whole.len() - 1]));
    let chunked =
        b"HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n";
    assert_eq!(parse_http(chunked), Ok((500, "hello".to_owned())));
    assert!(is_complete(chunked) && !is_complete(&chunked[..chunked.len() - 6]));
    let huge = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nx\r\n";
    assert_eq!(parse_http(huge), Err(UpnpError::Missing("last chunk")));
    assert_eq!(parse_http(b"SSH-2.0-x\r\n\r\n"), Err(UpnpError::Missing("HTTP status")));
}

#[test]
fn calls_are_made_and_answers_read() {
    let service = parse_description(&description("/ctl"), &device_url()).unwrap();
    let text = add(&service, Protocol::Udp, 51_820, Ipv4Addr::new(192, 168, 1, 2), 3_600);
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    assert!(head.contains(&format!("Content-Length: {}", body.len())), "{head}");
    assert!(head.contains("SOAPAction: \"urn:schemas-upnp-org:service:WANIPConnection:1#AddPortMapping\""));
    assert!(
        body.contains("<NewProtocol>UDP</NewProtocol><NewInternalPort>51820</NewInternalPort>"),
        "{body}"
    );
    let address = "<NewExternalIPAddress>11.22.33.44</NewExternalIPAddress>";
    assert_eq!(parse_address(200, address), Ok(Ipv4Addr::new(11, 22, 33, 44)));
    assert_eq!(parse_address(200, "<x>"), Err(UpnpError::Missing("address")));
    assert_eq!(check_answer(500, "<errorCode>718</errorCode>"), Err(UpnpError::Refused(718)));
    assert_eq!(check_answer(404, ""), Err(UpnpError::Refused(404)));
}

proptest! {
    #[test]
    fn anything_may_come(bytes in prop::collection::vec(any::<u8>(), 0..2_000), text in any::<String>()) {
        let _ = (parse_http(&bytes), is_complete(&bytes), parse_search_answer(&text), parse_address(200, &text));
        let _ = (parse_description(&text, &device_url()), check_answer(500, &text));
    }
}
