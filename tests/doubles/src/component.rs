//! Other builds of a compiled plugin, made without compiling it again.

/// The same plugin in another version, which has as many characters as its own.
///
/// # Panics
/// If the plugin doesn't name its own version anywhere.
pub fn in_version(component: &[u8], own: &str, version: &str) -> Vec<u8> {
    assert_eq!(own.len(), version.len());
    let (mut other, own) = (component.to_vec(), own.as_bytes());
    // After an at sign stands the version of an interface.
    let places = (1..component.len()).filter(|at| component[*at..].starts_with(own) && component[at - 1] != b'@');
    let places: Vec<_> = places.collect();
    assert!(!places.is_empty(), "the component doesn't name its version");
    for at in places {
        other[at..at + own.len()].copy_from_slice(version.as_bytes());
    }
    other
}

/// The same plugin with a note that changes nothing but its content.
///
/// # Panics
/// If the note has more than 100 bytes.
pub fn with_note(component: &[u8], note: &str) -> Vec<u8> {
    let length = u8::try_from(note.len()).ok().filter(|length| *length <= 100).expect("the note is short");
    // A custom section: 0, its size, and its name, which is all of it.
    [component, &[0, length + 1, length], note.as_bytes()].concat()
}
