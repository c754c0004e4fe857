/// A requirement that rows have to meet before an authorization goes on or ends.
package enum AuthorizationRequirement: Sendable, CaseIterable {
    /// The authorization request exists.
    case request
    /// The session of the request exists, if the request has one: the person's acts for an ended session begin no other
    /// session.
    case sessionOfRequest
    /// The session exists.
    case session
    /// The finished sign-in exists. Everything that ends the account's authentications by the method ends the sign-in.
    case finishedSignIn
    /// The device exists and is active.
    case device
    /// The account exists, is not locked, and was not locked since the authentication.
    case account
    /// A device waits for the request.
    case waitingDevice
    /// No other device has the person's code.
    case unusedUserCode
    /// The backchannel request exists, has not expired, and has no grant.
    case openBackchannelRequest

    /// The error of a step whose rows do not meet the requirement.
    package var refusal: StoreError {
        switch self {
        case .request: StoreError(.notFound, "the authorization request is gone")
        case .sessionOfRequest: StoreError(.notFound, "the session that the request waited in has ended")
        case .session: StoreError(.notFound, "the session has ended")
        case .finishedSignIn: StoreError(.notFound, "the finished sign-in was ended")
        case .device: StoreError(.notFound, "the device is gone")
        case .account: StoreError(.notFound, "the account is gone, locked, or was locked meanwhile")
        case .waitingDevice: StoreError(.notFound, "no device waits for the request")
        case .unusedUserCode: StoreError(.conflict, "the person's code is another device's")
        case .openBackchannelRequest: StoreError(.notFound, "the request is gone, or was answered")
        }
    }

    /// Throws ``refusal`` unless the requirement is met.
    ///
    /// - Parameter isMet: `nil` if the store has found nothing to judge.
    package func check(_ isMet: Bool?) throws(StoreError) {
        guard isMet == true else { throw self.refusal }
    }

    /// Returns the value that meets the requirement. Throws ``refusal`` for `nil`: the store has found no
    /// value.
    package func found<Value>(_ value: Value?) throws(StoreError) -> Value {
        guard let value else { throw self.refusal }
        return value
    }
}
