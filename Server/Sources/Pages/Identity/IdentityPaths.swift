/// The paths of the pages of personalised identities.
public enum IdentityPaths {
    /// The overview of a person's identity.
    public static let overview = "/account"
    /// The history of the identity's uses.
    public static let history = "/account/history"
    /// The list of what the person has confirmed for services.
    public static let receipts = "/account/receipts"
    /// The file of a person's copy of a receipt.
    public static let receiptCopy = "/account/receipts/copy"
    /// The list of the account's latest changes.
    public static let changes = "/account/changes"
    /// The list of the account's devices.
    public static let devices = "/account/devices"
    /// The page on which a person reports a device as lost.
    public static let deviceLost = "/account/devices/lost"
    /// The page on which a person takes a lost device back.
    public static let deviceReturn = "/account/devices/return"
    /// The page on which a person requests a code for a further device.
    public static let activation = "/account/activation"
    /// The page on which a person ends an activation, or a code that waits.
    public static let activationEnd = "/account/activation/end"
    /// The page on which a person renames an activation.
    public static let activationName = "/account/activation/name"
    /// The page on which a person makes the server forget the choices for a service.
    public static let choice = "/account/choice"
    /// The page on which a person adds an e-mail address that services can request.
    public static let email = "/account/value/email"
    /// The page on which a person adds a phone number that services can request.
    public static let phone = "/account/value/phone"
    /// The page on which a person renames a value.
    public static let valueName = "/account/value/name"
    /// The page on which a person removes a value.
    public static let valueEnd = "/account/value/remove"
    /// The page on which a person removes a further address.
    public static let addressEnd = "/account/address/remove"

    /// Returns a path with a parameter in the query.
    static func address(_ path: String, _ parameter: String, _ value: String) -> String {
        "\(path)?\(parameter)=\(percentEncoded(value))"
    }
}
