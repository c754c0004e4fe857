import _Primitives

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Where the server is and how long to wait for it and for the person.
///
/// Decodable, so that an app can keep it in a file: only `baseUrl` must be there, and unknown members are ignored.
/// Times are whole seconds in a file.
public struct Configuration: Hashable, Sendable, Codable {
    /// The server's address, with the path below which it is, if it has one. `https`, or `http` on this device:
    /// `localhost` or a literal loopback address.
    public var baseUrl: URL
    /// The identity of this app, as the server's facet list names it; by default ``MetaData/applicationFacetId``.
    public var facetId: String
    /// Where a registration request is fetched, under ``baseUrl``.
    public var registrationRequestPath: String
    /// Where a registration response is sent.
    public var registrationResponsePath: String
    /// Where an authentication request is fetched.
    public var authenticationRequestPath: String
    /// Where an authentication response is sent.
    public var authenticationResponsePath: String
    /// Where keys are deregistered.
    public var deregistrationRequestPath: String
    /// Where a typed sign-in code is redeemed.
    public var authenticationRedeemPath: String
    /// Where a service's token that deletes keys is redeemed: such a token is written down before it leaves.
    public var deregistrationRedeemPath: String
    /// Where the server lists the apps that may answer, for a server whose requests do not name that address.
    public var facetsPath: String
    /// Where an account's notices are fetched.
    public var noticesPath: String
    /// Where an account's signed-in browsers are fetched, and, with an identifier behind it, ended.
    public var sessionsPath: String
    /// Where is fetched, and, with an identifier behind it, ended, what services have that goes on without a browser.
    public var grantsPath: String
    /// Where is fetched what services ask the account's person without a browser.
    public var questionsPath: String
    /// The hosts, with their port where it is not the scheme's own, to which a token may be sent: by default the one of
    /// ``baseUrl``. A payload that names another host is refused before anything is sent.
    ///
    /// The app's own words; a host from a payload is told from them by its bytes.
    public var redeemHosts: Set<String>
    /// How long one exchange with the server may take.
    public var networkTimeoutInSeconds: Int
    /// How long the person has for each answer.
    public var userInteractionTimeoutInSeconds: Int

    /// A configuration with the defaults for everything but the server's address.
    public init(baseUrl: URL) {
        self.baseUrl = baseUrl
        self.facetId = MetaData.applicationFacetId
        self.registrationRequestPath = "/uaf/1.1/request/registration/"
        self.registrationResponsePath = "/uaf/1.1/registration/"
        self.authenticationRequestPath = "/uaf/1.1/request/authentication/"
        self.authenticationResponsePath = "/uaf/1.1/authentication/"
        self.deregistrationRequestPath = "/uaf/1.1/request/deregistration/"
        self.authenticationRedeemPath = "/token/redeem/authentication"
        self.deregistrationRedeemPath = "/token/redeem/deregistration"
        self.facetsPath = "/uaf/1.1/facets"
        self.noticesPath = "/account/v1/notices"
        self.sessionsPath = "/account/v1/sessions"
        self.grantsPath = "/account/v1/grants"
        self.questionsPath = "/account/v1/questions"
        self.redeemHosts = Set([Self.authority(baseUrl)].compactMap(\.self))
        self.networkTimeoutInSeconds = 60
        self.userInteractionTimeoutInSeconds = 240
    }

    private enum CodingKeys: String, CodingKey {
        case baseUrl, facetId, registrationRequestPath, registrationResponsePath, authenticationRequestPath
        case authenticationResponsePath, deregistrationRequestPath, authenticationRedeemPath
        case deregistrationRedeemPath, facetsPath, noticesPath, sessionsPath, grantsPath, questionsPath, redeemHosts
        case networkTimeoutInSeconds, userInteractionTimeoutInSeconds
    }

    /// Reads a configuration; what is missing has its default.
    ///
    /// Throws ``InitializationError`` (`invalidConfiguration`) where `baseUrl` is missing or not an address.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        guard let text = try values.decodeIfPresent(String.self, forKey: .baseUrl), let baseUrl = URL(string: text),
            Self.authority(baseUrl) != nil
        else { throw InitializationError(.invalidConfiguration, "baseUrl is missing or not an address") }
        self.init(baseUrl: baseUrl)
        func read<Value: Decodable>(_ key: CodingKeys, into value: inout Value) throws {
            if let found = try values.decodeIfPresent(Value.self, forKey: key) { value = found }
        }
        try read(.facetId, into: &self.facetId)
        try read(.registrationRequestPath, into: &self.registrationRequestPath)
        try read(.registrationResponsePath, into: &self.registrationResponsePath)
        try read(.authenticationRequestPath, into: &self.authenticationRequestPath)
        try read(.authenticationResponsePath, into: &self.authenticationResponsePath)
        try read(.deregistrationRequestPath, into: &self.deregistrationRequestPath)
        try read(.authenticationRedeemPath, into: &self.authenticationRedeemPath)
        try read(.deregistrationRedeemPath, into: &self.deregistrationRedeemPath)
        try read(.facetsPath, into: &self.facetsPath)
        try read(.noticesPath, into: &self.noticesPath)
        try read(.sessionsPath, into: &self.sessionsPath)
        try read(.grantsPath, into: &self.grantsPath)
        try read(.questionsPath, into: &self.questionsPath)
        try read(.redeemHosts, into: &self.redeemHosts)
        try read(.networkTimeoutInSeconds, into: &self.networkTimeoutInSeconds)
        try read(.userInteractionTimeoutInSeconds, into: &self.userInteractionTimeoutInSeconds)
    }

    /// The address of a path at the server: below scheme, host, port and path of ``baseUrl``, nothing else of it.
    func address(_ path: String) -> URL? {
        guard var parts = URLComponents(url: self.baseUrl, resolvingAgainstBaseURL: true) else { return nil }
        let base = parts.path.hasSuffix("/") ? String(parts.path.dropLast()) : parts.path
        parts.path = base + (path.hasPrefix("/") ? path : "/" + path)
        parts.query = nil
        parts.fragment = nil
        return parts.url
    }

    /// Whether a token may be sent to a host. Hosts are the same where their bytes are.
    func mayRedeem(at authority: String) -> Bool { self.redeemHosts.containsBytes(of: authority) }

    /// Host and port of an address as ``redeemHosts`` names them: lower case, the port only where it is not the
    /// scheme's own. `nil` where there is no host, or one with letters outside ASCII.
    static func authority(_ url: URL) -> String? {
        guard let host = url.host()?.asciiLowercased, !host.isEmpty, host.utf8.allSatisfy({ $0 < 0x80 }) else {
            return nil
        }
        let usual = ["https": 443, "http": 80][url.scheme?.asciiLowercased ?? ""]
        guard let port = url.port, port != usual else { return host }
        return "\(host):\(port)"
    }
}
