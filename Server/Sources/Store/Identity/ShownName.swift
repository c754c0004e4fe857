import PersonalInformation

/// Names that people are shown: of roles, of organisations, of values that somebody has called something.
public enum ShownName {
    /// Whether a name is one line that people can be shown: nothing in it hides or reorders, and no space is around it.
    public static func isAccepted(_ name: String) -> Bool {
        NameValidator(maxLength: Limits.Fixed.shownNameCharacters).accepts(name)
    }
}
