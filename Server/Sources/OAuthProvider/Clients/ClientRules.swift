import JOSE
import OAuth
import Records
import Settings
import _Primitives

/// A word for a level of assurance that clients may request (`acr_values`), and the levels of authentication that
/// satisfy the word.
public struct AssuranceWord: Sendable, Equatable {
    /// The word, a URN or an address.
    public let name: String
    /// The levels of authentications (`acr`) that satisfy the word; empty if this server cannot vouch for the word.
    public let levels: [String]

    /// Creates a word with the levels that satisfy the word.
    public init(_ name: String, levels: [String]) {
        self.name = name
        self.levels = levels
    }
}

/// The rules for the registration of a client: each setting against the server's abilities, and against the client's
/// other settings.
struct ClientRules: Sendable {
    let issuer: String
    let limits: Limits
    /// The listener where clients show certificates; `nil` if no listener asks for certificates.
    let certificates: CertificateListener?
    /// The words for levels of assurance.
    let levels: [AssuranceWord]
    /// The names of the types of details that people can be asked about.
    let detailTypes: [String]
    /// The ways for people to sign in, in words for an administrator.
    let ways: [String]
    /// Returns `true` if a word names a way for people to sign in.
    let isWay: @Sendable (String) -> Bool

    /// The values of `token_endpoint_auth_method` that clients can have, each once.
    var authenticationMethods: [String] {
        let mutual = self.certificates
        return Clients.credentials.flatMap { $0.methods }.reduce(into: []) { methods, method in
            if method.hasSameBytes(as: CertificateClient.issued), mutual?.hasAuthorities != true { return }
            if method.hasSameBytes(as: CertificateClient.selfSigned), mutual == nil { return }
            if !methods.containsBytes(of: method) { methods.append(method) }
        }
    }

    /// Checks a new client against the rules. Throws `OAuthError` `invalid_request` with a sentence for the
    /// administrator.
    ///
    /// - Parameter keys: The client's keys, if the client gives a set (``keySet(_:)``).
    func check(_ client: ClientRecord, keys: JWKSet?) throws {
        try self.check(
            ClientChange(
                name: client.name, redirectURIs: client.redirectURIs,
                postLogoutRedirectURIs: client.postLogoutRedirectURIs, clientURI: client.clientURI))
        for algorithm in client.settings.answerAlgorithms { try Self.check(algorithm) }
        try self.checkKind(of: client, keys: keys)
    }

    /// Checks the name that people will see, and the addresses to which browsers may be led. Throws `OAuthError`
    /// `invalid_request` with a sentence for the administrator.
    func check(_ change: ClientChange) throws {
        if let name = change.name {
            let scalars = name.unicodeScalars
            guard (1...self.limits.nameCharacters).contains(scalars.count), scalars.first != " ", scalars.last != " ",
                scalars.allSatisfy({ !Self.isUnfit($0.properties.generalCategory) })
            else {
                throw OAuthError(.invalidRequest, "The name is empty, too long, or has characters that do not show.")
            }
        }
        for addresses in [change.redirectURIs ?? [], change.postLogoutRedirectURIs ?? []] {
            let most = self.limits.oauth.addressesPerClient
            guard addresses.count <= most else {
                throw OAuthError(.invalidRequest, "There are more than \(most) redirect addresses.")
            }
            guard Set(addresses.map(ExactText.init)).count == addresses.count else {
                throw OAuthError(.invalidRequest, "One redirect address is there twice.")
            }
            for address in addresses {
                guard !address.contains("*") else {
                    throw OAuthError(
                        .invalidRequest,
                        "The address \(address.prefix(Limits.Fixed.shownAddressCharacters)) has a wildcard. Addresses are compared letter by letter: "
                            + "register each one that the service uses.")
                }
                // The check of the client's kind decides which of these addresses the client can have.
                _ = try RedirectURI(registered: address)
            }
        }
        if let home = change.home, (try? RedirectURI(home)) == nil {
            throw OAuthError(
                .invalidRequest,
                "The client_uri is no page that browsers can be led to: https, or http to a literal loopback address, "
                    + "without a fragment.")
        }
    }

    private static func isUnfit(_ category: Unicode.GeneralCategory) -> Bool {
        switch category {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: true
        default: false
        }
    }

    static func check(_ algorithm: JWSAlgorithm) throws {
        guard SigningKeys.algorithms.contains(algorithm) else {
            let names = SigningKeys.algorithms.map(\.rawValue).joined(separator: ", ")
            throw OAuthError(.invalidRequest, "ID tokens and userinfo are signed with one of these: \(names).")
        }
    }
}
