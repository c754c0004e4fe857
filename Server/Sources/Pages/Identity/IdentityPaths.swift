/// Where the pages of personalised identities are.
public enum IdentityPaths {
    /// What a person has.
    public static let overview = "/account"
    /// What their identity was used for.
    public static let history = "/account/history"
    /// Where a code for another device is asked for.
    public static let activation = "/account/activation"
    /// Where an activation, or a code that waits, is ended.
    public static let activationEnd = "/account/activation/end"
    /// Where an activation is given another name.
    public static let activationName = "/account/activation/name"
    /// Where it is forgotten what was chosen for a service.
    public static let choice = "/account/choice"
}
