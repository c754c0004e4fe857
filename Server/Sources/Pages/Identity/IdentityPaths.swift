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
}
