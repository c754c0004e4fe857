/// A page that asks something: a form, or a question with a button.
public enum Question: Sendable {
    // Signing out, and a new identity

    /// The sign-out, which a service may have asked for. `canStay` if a link leads back without a sign-out.
    case signOut(client: String?, operatorName: String)
    /// The answer that goes back to a service by itself.
    case postedAnswer(origin: String)
    /// The address of a person without an identity.
    case newcomer(client: String)

    // Passwords and addresses

    /// The name of a person who has forgotten their password.
    case forgottenPassword(operatorName: String)
    /// A new password, after a mailed link or after the old password.
    case resetPassword, changePassword
    /// An authenticator app; `replaces` if the account has one.
    case secondFactor(replaces: Bool)
    /// New recovery codes; `left` of the former ones are left.
    case recoveryCodes(left: Int)
    /// The first code of an authenticator app.
    case secondFactorOffer
    /// A link to an own address. `isConfirmed` after the phone has confirmed.
    case ownAddress(address: String, isConfirmed: Bool)
    /// The confirmation of an address behind its link.
    case isThisYourAddress(address: String, username: String, operatorName: String)

    // Changes of an account

    /// A change that the phone has to confirm first.
    case beforePassword, beforeSecondFactor, beforeRecoveryCodes, beforeDevice
    /// The confirmation of a change by a password. `text` is the text that a phone would sign.
    case confirmChange(text: String)
    /// The decision about a change that was made. `isConfirmed` after a confirmation.
    case disown(change: String, made: String, isConfirmed: Bool), reclaim(
        change: String, made: String, isConfirmed: Bool)
    /// Another link to the decision.
    case anotherChangeLink
    /// The report that a device is lost, and its return.
    case reportDevice(name: String), returnDevice(name: String)

    // Devices and values

    /// A code for a further device.
    case anotherDevice
    /// The end of a device; `isLast` if no other device is left.
    case endDevice(name: String, isLast: Bool)
    /// The end of a code.
    case endCode(name: String)
    /// Another name of a device, or of a value of an attribute.
    case renameDevice, renameValue(attribute: String)
    /// The end of the choices for a service.
    case forgetChoice(service: String, choices: [String])
    /// A further address. `sendsMail` if a link confirms the address; `isConfirmed` after the phone has confirmed.
    case email(sendsMail: Bool, isConfirmed: Bool)
    /// A phone number. `isConfirmed` after the phone has confirmed.
    case phone(isConfirmed: Bool)
    /// The end of a value that these services get.
    case removeValue(attribute: String, alias: String, services: [String])
    /// The end of an address.
    case removeAddress(address: String, isVerified: Bool)

    // Invitations

    /// An invitation that makes an identity, or that a person who is signed in accepts.
    case invitation(Invitation), acceptInvitation(Invitation, username: String)
}
