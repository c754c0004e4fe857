package import _Primitives

/// A requirement of a new grant that other rows have to meet, in the step that keeps the grant.
package enum GrantRequirement: Sendable, CaseIterable {
    /// The consent that the grant depends on exists.
    case consent
    /// The client is no service of personalised identities, or the authentication was made for this service.
    case service
    /// The device secret of the grant exists, in the grant's session.
    case deviceSecret
    /// The client exists and belongs to the group that may use the device secret.
    case sharingGroup
    /// The client exists and is not switched off.
    case servedClient
    /// The grant exists after the end of the surplus grants: grants may last, and the grant came of no surplus grant.
    case room

    private var reason: String {
        switch self {
        case .consent: "the consent was taken back"
        case .service: "the authentication is not for this service"
        case .deviceSecret: "the secret has ended"
        case .sharingGroup: "the client is gone, or has left the group"
        case .servedClient: "the client is gone, or switched off"
        case .room: "the client has as many lasting grants as it can, and the new grant would end with the oldest"
        }
    }

    /// The error of a step whose rows do not meet the requirement.
    package var refusal: StoreError { StoreError(.notFound, self.reason) }

    /// Throws ``refusal`` if the requirement is not met.
    package func check(_ isMet: Bool) throws {
        guard isMet else { throw self.refusal }
    }
}

extension AuthenticationRecord {
    /// Returns `true` if a grant rests on the authentication, and the authentication is for the service that is the
    /// grant's client.
    package func isForService(of grant: GrantRecord) -> Bool {
        self.id.hasSameBytes(as: grant.authentication)
            && self.role?.service.hasSameBytes(as: grant.client) == true
    }
}

extension PassedSession {
    /// Throws ``StoreError/Code/notFound`` if the session cannot be passed on at `moment`. The origin has to stand, to
    /// have come of no other grant, and to have the new grant's authentication. A shown device secret has to be the
    /// secret of the origin.
    ///
    /// - Parameter origin: The origin, as the store has found the grant; `nil` if the store has found none.
    package func check(origin: GrantRecord?, at moment: Timestamp) throws {
        guard let origin, moment < origin.expiresAt, origin.origin == nil,
            origin.authentication.hasSameBytes(as: self.grant.authentication)
        else { throw StoreError(.notFound, "the session has ended, or was passed on itself") }
        guard let shown = self.deviceSecret else { return }
        guard let kept = origin.deviceSecret, constantTimeEqual(kept, shown) else {
            throw StoreError(.notFound, "the session is another device's")
        }
    }
}
