import _Primitives

/// A deleted grant, with the data by which the grants made from it are found.
package struct EndedGrant: Sendable, Equatable {
    /// A device secret that was given with a grant.
    package struct GivenSecret: Sendable, Equatable {
        /// SHA-256 of the secret.
        package let digest: [UInt8]
        /// The session in which the secret was given.
        package let session: String

        /// Makes a secret of these values.
        package init(digest: [UInt8], session: String) {
            self.digest = digest
            self.session = session
        }
    }

    /// The grant's identifier.
    package let id: String
    /// The authentication of the grant. The grants of a passed-on session have the same authentication.
    package let authentication: String
    /// The device secret that was given with the grant. The secret ends with the grant, and so do the grants that apps
    /// have got by the secret. `nil` if no secret was given with the grant.
    package let givenSecret: GivenSecret?

    /// Makes a grant of the values of its row. The device secret of a grant with an origin was given with another grant.
    /// A secret is given in a session.
    package init(id: String, authentication: String, session: String?, deviceSecret: [UInt8]?, origin: String?) {
        self.id = id
        self.authentication = authentication
        if origin == nil, let deviceSecret, let session {
            self.givenSecret = GivenSecret(digest: deviceSecret, session: session)
        } else {
            self.givenSecret = nil
        }
    }

    /// Returns `true` if another grant ends with this grant. The other grant was passed on from this grant, or was got
    /// by the device secret that was given with this grant. No grant comes of a grant that came of another grant.
    ///
    /// - Parameters:
    ///   - origin: The origin of the other grant (``GrantRecord/origin``).
    ///   - deviceSecret: The device secret of the other grant (``GrantRecord/deviceSecret``).
    package func takesAlong(origin: String?, deviceSecret: [UInt8]?) -> Bool {
        guard let origin else { return false }
        if origin.hasSameBytes(as: self.id) { return true }
        guard let given = self.givenSecret?.digest, let deviceSecret else { return false }
        return constantTimeEqual(given, deviceSecret)
    }
}

/// Ended grants together with the grants that end for them. The end of a grant is followed to the grants made from the
/// grant, from there to further grants, and so on.
package struct EndedGrants: Sendable, Equatable {
    private var grants: [EndedGrant]
    private var followed = 0
    private var secrets = 0

    /// Begins with the grants that a step has deleted.
    package init(_ grants: [EndedGrant]) { self.grants = grants }

    /// The number of grants and device secrets that have ended.
    package var count: Int { self.grants.count + self.secrets }

    /// Returns the next grant whose consequences have to be looked up; `nil` after the last.
    package mutating func next() -> EndedGrant? {
        guard self.followed < self.grants.count else { return nil }
        defer { self.followed += 1 }
        return self.grants[self.followed]
    }

    /// Adds grants that have ended as a consequence. Their own consequences follow.
    package mutating func add(_ grants: [EndedGrant]) { self.grants += grants }

    /// Adds a number of ended device secrets.
    package mutating func add(secrets: Int) { self.secrets += secrets }
}

/// The rows that a step has ended, and the audit event for their end.
package struct EndedRows: Sendable, Equatable {
    /// The number of ended rows.
    package let count: Int
    /// The event to keep; `nil` if no row has ended. A request without an effect leaves no trace in the trail, which is
    /// kept for ever.
    package let event: AuditEvent?

    /// Judges the number of ended rows. `event` is kept if any row has ended.
    package init(_ count: Int, event: AuditEvent) {
        self.count = count
        self.event = count > 0 ? event : nil
    }

    /// `true` if any row has ended.
    package var isAny: Bool { self.count > 0 }
}
