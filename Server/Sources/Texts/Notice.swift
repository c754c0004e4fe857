/// A page that tells a result.
public enum Notice: Sendable {
    // Signing in, and out

    /// Nobody is signed in. `mayBeInvited` adds the way back to an invitation.
    case nobodyIsSignedIn(mayBeInvited: Bool)
    /// A device was signed in to a service, or was not.
    case deviceSignedIn(client: String), deviceRefused
    /// The sign-out of a service's session, or of the browser's.
    case signedOut(client: String?)
    /// An account was not connected with a provider: the person is another account's, the account is full, or the
    /// connection is over.
    case connectionTaken(provider: String), connectionFull, connectionOver
    /// The action needs a sign-in of a few minutes ago by two factors.
    case staleSignIn(StaleMatter, minutes: Int)

    /// The action that needs a fresh sign-in.
    public enum StaleMatter: Sendable {
        case endOfDevice, values, lostDevice
    }

    // Another provider

    /// Nobody here is connected with a person; `canConnect` if the person can connect an account.
    case unknownPerson(provider: String, operatorName: String, client: String, canConnect: Bool)
    /// Very many people come back from a provider.
    case crowded(provider: String)
    /// A provider did not sign the person in.
    case declined(provider: String), failedAt(provider: String), stale(provider: String), keptOut(provider: String),
        busy

    // Passwords and addresses

    /// A link to a new password was mailed, if the account can have one.
    case resetLinkMailed
    /// A new password counts, after a link or after the old password.
    case passwordReset, passwordChanged
    /// The browser is known to the account from now on.
    case browserKnown
    /// A mailed link does not work: of an address, of a new password, of a change.
    case addressLinkOver, resetLinkOver, changeLinkOver
    /// No password can be changed here.
    case noPasswordHere
    /// A link that confirms an address was mailed, or was not.
    case addressLinkMailed, addressLinkResting, nothingToConfirm
    /// The address is confirmed already.
    case addressKnown(address: String)
    /// The account has no address.
    case noAddress(operatorName: String)
    /// The address is confirmed now. `isComplete` is `false` if services cannot ask for it, because there are too many.
    case addressConfirmed(isComplete: Bool)

    // Changes of an account

    /// The person has cancelled a change.
    case changeCancelled
    /// Nothing of the account can confirm a change.
    case changeUnconfirmable
    /// A decision about a change was not confirmed in time.
    case decisionUnconfirmed(minutes: Int)
    /// A change rests, or counts again.
    case changeRests(change: String), changeCounts(change: String)
    /// A change cannot be disowned or reclaimed any more.
    case changeTooOld
    /// A link to the question about a change was mailed, if there is one.
    case changeLinkMailed
    /// A change waits for a moment.
    case changeWaits(until: String)
    /// A change that waited was stopped, or could not be.
    case changeStopped, changeNotWaiting

    // Devices and values

    /// There is no such device, no such value, or no such receipt.
    case noDevice, noValue, noReceipt
    /// A device has ended.
    case deviceEnded
    /// A device was reported as lost, or signs the person in again.
    case deviceRests(String), deviceReturned(String)
    /// The person has signed in by a device that may not report other devices yet.
    case deviceIsLimited(until: String)
    /// As many codes wait as can be.
    case tooManyCodes
    /// A device, or a value, has its name.
    case deviceNamed(String), valueNamed(String)
    /// Nothing is chosen for a service, or the choice is forgotten.
    case nothingChosen, choiceForgotten
    /// An address was added, known before, or cannot be confirmed.
    case emailAdded, emailKnown, emailUnconfirmable
    /// A link to an address was mailed. `isFirst` for the account's first address.
    case emailLinkMailed(isFirst: Bool)
    /// No link to an address was mailed.
    case emailLinkResting, emailNothingToConfirm
    /// A number was added, or known before.
    case phoneAdded, phoneKnown
    /// A value, or an address, was removed.
    case valueRemoved, addressRemoved

    // Codes for apps, and invitations

    /// The state of a code.
    case codeWaits, codeOver, codeOfAnotherBrowser
    /// A device is personalised; the person came from a service, or from none.
    case devicePersonalised(home: String?)
    /// An invitation that nobody can accept.
    case invitationUnknown(operatorName: String), invitationAccepted(operatorName: String)
    /// An invitation that was taken back, or is over.
    case invitationRevoked(operatorName: String), invitationOver(operatorName: String)
    /// The person has accepted an invitation.
    case accepted
    /// An invitation was mailed, if the address can have one.
    case newcomerInvited(client: String, operatorName: String)
    /// An invitation to an account whose person is not signed in. `other` is signed in in this browser; `home` is a
    /// service at which the person can sign in.
    case invitationElsewhere(Invitation, operatorName: String, other: String?, home: String?)
}

/// The organisation or the service to which a person is invited.
public struct Invitation: Sendable {
    /// The name above the invitation: an organisation, a service, or the name of this server.
    public let headline: String
    /// The service and the role; `nil` for none.
    public let place: (service: String, role: String)?
    /// The name of this server.
    public let operatorName: String
    /// The end of the invitation.
    public let until: String

    /// Describes an invitation.
    public init(headline: String, place: (service: String, role: String)?, operatorName: String, until: String) {
        self.headline = headline
        self.place = place
        self.operatorName = operatorName
        self.until = until
    }
}

/// A page that tells of a failed request.
public enum Failure: Sendable {
    /// The way back to the service from which the person came; `name` is `nil` for an unknown service.
    public struct Service: Sendable {
        /// The name of the service.
        public let name: String?

        /// Names a service.
        public init(name: String?) { self.name = name }
    }

    /// The pause before a new try.
    public enum Pause: Sendable {
        /// A number of seconds, as in `Retry-After`.
        case seconds(String)
        /// A pause of unknown length.
        case moment
    }

    /// A sign-in of another browser.
    case wrongBrowser(Service)
    /// A sign-in that is over or unknown.
    case signInOver(Service)
    /// A browser without the cookie of the sign-in.
    case browserUnknown(Service, host: String)
    /// Too many sign-ins. `isReadAgain` if the person can load the page again.
    case tooManySignIns(Service, pause: Pause, isReadAgain: Bool)
    /// The store or the passwords are busy. `isReadAgain` if the person can load the page again.
    case busy(Service, isReadAgain: Bool)
    /// A fault of the server.
    case faulty(Service)
    /// A damaged address.
    case damagedAddress(Service)
    /// A sign-in that goes on in another browser, in the words that the phone has shown.
    case anotherBrowser(words: String)
    /// A service's wrong request.
    case wrongRequest(Service)
    /// An address without a page: none, of another method, of a faulty server, or of a wrong request.
    case noPage, notAPage, faultyOutside, unanswerable
}
