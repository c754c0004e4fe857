import OAuth
import _Primitives

/// A part of a client's access to a person's data, in terms that people understand.
public enum ConsentItem: String, Sendable, CaseIterable {
    /// The recognition of the same person each time, by an identifier that only this client gets.
    case identity
    /// The name that the person signs in with.
    case username
    /// The name that people read.
    case name
    /// The person's picture, language and time zone.
    case profile
    /// The person's e-mail address.
    case email
    /// The person's phone number.
    case phone
    /// The person's postal address.
    case address
    /// Access while the person is away.
    case offlineAccess
    /// Permission for other apps of the client's group on the device to sign the person in.
    case deviceSSO

    /// Returns the items of scopes and claims, in the order of the cases.
    static func items(scope: Scope, claims: String?) throws -> [ConsentItem] {
        let named = try claims.map { try ClaimsRequest($0) }
        let names =
            PersonClaims.names(of: scope) + ((named?.idToken ?? []) + (named?.userinfo ?? [])).map(\.name)
        var items: Set<ConsentItem> = [.identity]
        for part in PersonClaims.parts where part.claims.contains(where: names.containsBytes) {
            items.insert(part.item)
        }
        if scope.contains(Scope.offlineAccess) { items.insert(.offlineAccess) }
        if scope.contains(Scope.deviceSSO) { items.insert(.deviceSSO) }
        return Self.allCases.filter(items.contains)
    }
}
