extension ClientDelivery {
    /// The stored number for the content of a delivery.
    package enum Kind: Int, Sendable, CaseIterable {
        case logout = 0
        case answer = 1
    }

    /// Returns the kind of a stored delivery, and the client's address for this kind. Throws
    /// ``StoreError/Code/corrupt`` for an unknown kind, and for a kind without an address: deliveries without an address
    /// have been deleted.
    package static func kind(
        kept number: Int, among addresses: [Kind: String]
    ) throws -> (kind: Kind, address: String) {
        guard let kind = Kind(rawValue: number), let address = addresses[kind] else { throw Self.unknownContent }
        return (kind, address)
    }

    /// Returns the kinds that a client does not want to be told of: the client has no address for them.
    package static func unwanted(among addresses: [Kind: String]) -> [Kind] {
        Kind.allCases.filter { addresses[$0] == nil }
    }

    fileprivate static var unknownContent: StoreError { StoreError(.corrupt, "what a client is to be told") }
}

extension ClientDelivery.Content {
    /// The identifier of the session, or of the request.
    package var matter: String {
        switch self {
        case .logout(let session, _): session
        case .answer(let request): request
        }
    }

    /// Reads the content of a stored delivery. Throws ``StoreError/Code/corrupt`` for the end of a session without a
    /// subject.
    package init(_ kind: ClientDelivery.Kind, matter: String, subject: String?) throws {
        switch (kind, subject) {
        case (.logout, let subject?): self = .logout(session: matter, subject: subject)
        case (.logout, nil): throw ClientDelivery.unknownContent
        case (.answer, _): self = .answer(request: matter)
        }
    }
}
