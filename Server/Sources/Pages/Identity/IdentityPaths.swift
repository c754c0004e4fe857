/// Where the pages of personalised identities are.
public enum IdentityPaths {
    /// What a person has.
    public static let overview = "/account"
    /// What their identity was used for.
    public static let history = "/account/history"
    /// The list of the account's latest changes.
    public static let changes = "/account/changes"
    /// Where a code for another device is asked for.
    public static let activation = "/account/activation"
    /// Where an activation, or a code that waits, is ended.
    public static let activationEnd = "/account/activation/end"
    /// Where an activation is given another name.
    public static let activationName = "/account/activation/name"
    /// Where it is forgotten what was chosen for a service.
    public static let choice = "/account/choice"
    /// Where an e-mail address is given that services can ask for.
    public static let email = "/account/value/email"
    /// Where a phone number is given that services can ask for.
    public static let phone = "/account/value/phone"
    /// Where a value is called otherwise.
    public static let valueName = "/account/value/name"
    /// Where a value is taken away.
    public static let valueEnd = "/account/value/remove"
    /// Where a further address is taken away.
    public static let addressEnd = "/account/address/remove"
}
