//! The header that is committed.

use expect_test::expect_file;

#[test]
fn the_header_declares_what_the_library_exports() {
    let root = env!("CARGO_MANIFEST_DIR");
    let config = cbindgen::Config::from_file(format!("{root}/cbindgen.toml")).unwrap();
    let bindings = cbindgen::Builder::new()
        .with_config(config)
        .with_src(format!("{root}/src/abi.rs"))
        .generate()
        .unwrap();
    let mut header = Vec::new();
    bindings.write(&mut header);
    // UPDATE_EXPECT=1 writes it.
    expect_file!["../../include/daemon_md.h"].assert_eq(&String::from_utf8(header).unwrap());
}
