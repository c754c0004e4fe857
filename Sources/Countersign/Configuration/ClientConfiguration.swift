import _Primitives

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Where the server is and how long to wait for it and for the person.
///
/// Decodable, so that an app can keep it in a file: only `baseURL` must be there, and unknown members are ignored.
/// Times are whole seconds in a file, and a part of a second is written as a whole one.
public struct ClientConfiguration: Hashable, Sendable {
    /// The server's address, with the path below which it is, if it has one. `https`, or `http` on this device:
    /// `localhost` or a literal loopback address.
    public var baseURL: URL
    /// The identity of this app, as the server's facet list names it; by default ``MetaData/applicationFacetID``.
    public var facetID: String
    /// Where a registration request is fetched, under ``baseURL``.
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
    /// ``baseURL``. A payload that names another host is refused before anything is sent.
    ///
    /// The app's own words; a host from a payload is told from them by its bytes.
    public var redeemHosts: Set<String>
    /// How long one exchange with the server may take.
    public var networkTimeout: Duration
    /// How long the person has for each answer.
    public var userInteractionTimeout: Duration

    /// A configuration with the defaults for everything but the server's address.
    public init(baseURL: URL) {
        self.baseURL = baseURL
        self.facetID = MetaData.applicationFacetID
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
        self.redeemHosts = Set([baseURL.authority].compactMap(\.self))
        self.networkTimeout = .seconds(60)
        self.userInteractionTimeout = .seconds(240)
    }

    /// The address of a path at the server: below scheme, host, port and path of ``baseURL``, nothing else of it.
    func address(_ path: String) -> URL? { self.baseURL.address(of: path) }

    /// Whether a token may be sent to a host. Hosts are the same where their bytes are.
    func mayRedeem(at authority: String) -> Bool { self.redeemHosts.containsBytes(of: authority) }
}

extension Duration {
    /// Whole seconds, a part of one as a whole one: a time that is not none is not written as none.
    package var secondsRoundedUp: Int64 {
        let (seconds, attoseconds) = self.components
        return attoseconds > 0 && seconds < .max ? seconds + 1 : seconds
    }
}
