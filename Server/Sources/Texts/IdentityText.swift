/// Words of the pages of a person's identity.
public enum IdentityText: Sendable {
    /// Headings of the overview.
    case yourIdentity, yourDevices, waitingCodes, values, furtherAddresses, yourServices, yourOrganisations
    /// The line that follows the person's name.
    case nobodyElseSees
    /// Words for an empty part of the overview.
    case noDevice, noValue, noService
    /// Links and buttons of the overview.
    case rename, endThisDevice, takeBack, anotherDevice, addEmail, addPhone, mailLink, askAgain
    /// The factors that a device can sign with.
    case factorDevice, factorPIN, factorBiometric
    /// The times of a device; `used` is `nil` for a device that nobody has used yet.
    case deviceTimes(since: String, used: String?)
    /// The state of a device that signs nobody in.
    case deviceRests(until: String), deviceDisabled
    /// A code without a name for its device, as it stands alone and within a sentence.
    case aDevice, aDeviceWithin
    /// The end of a code's time.
    case until(String)
    /// Remarks about a value.
    case offeredFirst, knownToBeTrue, notConfirmed
    /// The state of an address.
    case addressConfirmed, addressUnconfirmed
    /// A service in which the person has no role.
    case noRole
    /// The values that a service gets.
    case gets([String])
    /// An attribute of a person, by its name in messages, such as `givenName`.
    case attribute(String)
    /// An attribute with the person's name for its value.
    case namedValue(attribute: String, alias: String)
    /// An attribute whose value the person has typed.
    case typedValue(attribute: String)

    /// The heading of the list of receipts, and the lead.
    case receipts, receiptsLead
    /// The hash of a confirmed content, and the link to the person's copy of a receipt.
    case contentHash(String), saveCopy
    /// The heading of the history, and the lead.
    case history, historyLead
    /// Words of the history.
    case nothingYet, nothingOlder, older, newest, agreed
    /// The role in a session.
    case role(String)
    /// The values that went to a service.
    case given(String)
    /// The result of a session.
    case finished, failed, aborted
    /// The purpose of a session.
    case changeOfAccount, signIn, signInOfApp, addedFactor, anotherPIN, codeForDevice, endOfIdentity, merge
}

/// Words of the page that personalises a device.
public enum ActivationText: Sendable {
    /// The heading, and the state.
    case personaliseDevice, waitingForDevice
    /// The way to the app on the device that shows the page.
    case isThisTheDevice, openAppHere
    /// The remaining time, without script and with it. `clock` shows minutes and seconds.
    case codeWorksUntil(String), codeWorksFor(clock: String), makeAnotherCode
    /// The steps.
    case openApp, scanCode, typePIN, mergeCode
    /// The code as text.
    case noCamera, takeText
    /// The way on without script.
    case isDoneQuestion, isDone
    /// The label of the QR code for people who do not see the code.
    case qrCode
}

/// Words of the list of an account's changes, and of the form by which another provider confirms a change.
public enum ChangeText: Sendable {
    /// Headings and leads.
    case changes, changesLead, waiting, waitingLead
    /// The moment from which a change can be made.
    case canBeMade(from: String)
    /// Links and buttons.
    case goOnHere, stop
    /// Words for an empty list.
    case nothingChanged
    /// The latest decision about a change.
    case stands, disowned, reclaimed
    /// The questions that a person can answer.
    case notMe, me
    /// The form for an account with neither phone nor password.
    case confirmThisChange, noPhoneNoPassword
    /// The hours that the change waits.
    case waits(hours: Int)
    /// The button that leads to a provider.
    case confirmBy(provider: String)
    /// The list of an account's devices.
    case ownDevices, ownDevicesLead, noDevices
    /// The state of a device.
    case inUse(since: String), reportedLost(since: String)
    /// The links to the questions about a device.
    case reportLost, haveItAgain
}
