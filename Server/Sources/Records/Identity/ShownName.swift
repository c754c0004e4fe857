import PersonalInformation
import Settings

/// Names that people are shown: of roles, of organisations, of values with a person's own label.
public enum ShownName {
    /// Returns `true` if a name is a single line that people can be shown: no character hides or reorders text, and no
    /// space is around the name.
    public static func isAccepted(_ name: String) -> Bool {
        NameValidator(maxLength: Limits.Fixed.shownNameCharacters).accepts(name)
    }
}
