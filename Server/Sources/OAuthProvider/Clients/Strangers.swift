import OAuth
import Records
import Settings
import _Primitives

/// The rules for strangers' clients (``ClientRecord/isStranger``): clients of open registration, and clients with a metadata
/// document of their own. The operator knows nothing of them.
enum Strangers {
    /// The refusal of a client for which no place is left.
    static let tooMany = OAuthError(
        .temporarilyUnavailable, "There are as many clients as this server takes.",
        detail: "the limit strangers; the operator can delete some")

    /// Returns the name for people to see. The name consists of hosts: a stranger can choose any name, but not any
    /// host.
    ///
    /// Throws `OAuthError` `invalid_client_metadata` if the hosts do not fit the name of a client: a host that is shown
    /// in part can look like another host.
    static func name(of hosts: [String], limits: Limits) throws -> String {
        let name = "\(hosts.joined(separator: ", ")) (not known to the operator)"
        guard name.unicodeScalars.count <= limits.nameCharacters else {
            throw OAuthError(.invalidClientMetadata, "The hosts of the client are too long to be shown.")
        }
        return name
    }

    /// Returns the hosts of redirect addresses, each once. An app's own scheme stands for a host.
    static func hosts(of addresses: [String]) throws -> [String] {
        var hosts: [String] = []
        for address in addresses {
            let origin = try RedirectURI(registered: address).origin
            let scheme = ["https://", "http://"].first { origin.hasBytes(atStart: $0) } ?? ""
            let host = String(origin.dropFirst(scheme.utf8.count))
            if !hosts.containsBytes(of: host) { hosts.append(host) }
        }
        return hosts
    }

    /// Checks that a stranger's client has no privilege that an operator gives to known services. Throws `OAuthError`
    /// `invalid_request` with a sentence for the administrator.
    static func check(_ settings: ClientSettings) throws {
        func refuse(_ isGiven: Bool, _ what: String) throws {
            guard !isGiven else {
                throw OAuthError(
                    .invalidRequest,
                    "Nobody has let this client in, so it cannot \(what). Register the service yourself: countersign admin client add."
                )
            }
        }
        try refuse(settings.party == .first, "be a first party's")
        try refuse(
            !settings.grantTypes.allSatisfy(ClientMetadata.grantTypes.containsBytes),
            "have another grant type than \(ClientMetadata.grantTypes.joined(separator: " and "))")
        try refuse(
            settings.signInMethods.count != 1
                || !settings.signInMethods.containsBytes(of: AuthenticationRecord.phoneMethod),
            "have people sign in otherwise than by their phone")
        try refuse(settings.tokens.group != nil, "be of a group of apps that sign in by each other")
        try refuse(!settings.tokens.resources.isEmpty || !settings.tokens.subjects.isEmpty, "own or exchange tokens")
        try refuse(settings.profile.signsInDirectly, "sign people in without a browser")
        try refuse(!settings.profile.detailTypes.isEmpty, "ask for authorization details")
        try refuse(settings.mayDeregister, "have keys deleted")
        try refuse(settings.signInService != nil, "be one of the app sign-in service")
        try refuse(settings.sectorIdentifierURI != nil, "share a sector (sector_identifier_uri)")
    }
}
