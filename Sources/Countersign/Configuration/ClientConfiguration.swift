import _Primitives

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The configuration of the client: the server's address and paths, the app's identity, and the time limits for the
/// server and for the person.
///
/// The configuration is decodable, so that an app can keep it in a file. Only `baseURL` is required, and unknown
/// members are ignored. A file holds times in whole seconds; a fraction of a second is written as a full second.
public struct ClientConfiguration: Hashable, Sendable {
    /// The server's address, including the base path if the server has one. The scheme is `https`, or `http` on this
    /// device: `localhost` or a literal loopback address.
    public var baseURL: URL
    /// The identity of this app, as the server's facet list names it. The default is ``MetaData/applicationFacetID``.
    public var facetID: String
    /// The path under ``baseURL`` from which the client fetches a registration request.
    public var registrationRequestPath: String
    /// The path to which the client sends a registration response.
    public var registrationResponsePath: String
    /// The path from which the client fetches an authentication request.
    public var authenticationRequestPath: String
    /// The path to which the client sends an authentication response.
    public var authenticationResponsePath: String
    /// The path for the deregistration of keys.
    public var deregistrationRequestPath: String
    /// The path at which the client redeems a typed sign-in code.
    public var authenticationRedeemPath: String
    /// The path at which the client redeems a service's token that deletes keys. The client stores such a token before
    /// sending it.
    public var deregistrationRedeemPath: String
    /// The path of the server's dispatch targets, below which each device has its own resource.
    public var dispatchTargetResourcePath: String
    /// The path of the server's devices, below which each device has what waits for the device, and the new devices that
    /// the device approves.
    public var deviceResourcePath: String
    /// The path of the server's list of apps that may answer. Only ``MobileAuthenticationClient/checkServer()`` uses
    /// the path, for a server whose requests do not name the list's address.
    public var facetsPath: String
    /// The path from which the client fetches an account's notices.
    public var noticesPath: String
    /// The path from which the client fetches an account's signed-in browsers. With an identifier appended, the path
    /// ends the session of one browser.
    public var sessionsPath: String
    /// The path from which the client fetches the account's grants: access that services keep without a browser. With
    /// an identifier appended, the path ends one grant.
    public var grantsPath: String
    /// The path from which the client fetches the questions that services ask the account's person without a browser.
    public var questionsPath: String
    /// The path from which the client fetches the receipts of what the account's person has confirmed.
    public var receiptsPath: String
    /// The hosts to which a token may be sent, each with its port if the port is not the scheme's default. By default
    /// the set holds the host of ``baseURL``.
    ///
    /// The client refuses a payload that names another host, and sends nothing. The texts are the app's own words; the
    /// client compares a host from a payload with them byte by byte.
    public var redeemHosts: Set<String>  // check: unicode-words
    /// The pinned keys of all servers of the client: of ``baseURL``, of the redeem hosts and of the facet list. The
    /// default is `nil`: the system's certificate authorities alone decide.
    ///
    /// With pins, ``MobileAuthenticationClientInitializer`` needs a transport that enforces pins
    /// (``Transport/pinned(to:)``), and ends with `invalidConfiguration` for any other transport. A file has the pins in
    /// `tlsPins` and `tlsBackupPins`.
    public var tlsPins: TLSPins?
    /// The maximum number of retries of an authentication's signed answer, whose answer has the authorization provider.
    /// The default is 3. The bounds of ``RetryPolicy`` apply, and an authentication can have a policy of its own.
    public var authenticationMaxRetries: Int
    /// The delay before each retry of an authentication's signed answer. The default is one second.
    public var authenticationRetryInterval: Duration
    /// The maximum time of one exchange with the server.
    public var networkTimeout: Duration
    /// The time that the person has for each answer.
    public var userInteractionTimeout: Duration
    /// `true` if the client needs a device with a passcode. The default is `true`: on a device without a passcode,
    /// ``MobileAuthenticationClientInitializer`` ends with `noDeviceLock`.
    ///
    /// ``DevicePlatform``'s `devicePasscode` reports the passcode. A platform without `devicePasscode`, such as Linux,
    /// cannot report a passcode, and the client works on such a platform all the same.
    public var isDeviceLockRequired: Bool

    /// Creates a configuration with the default values for everything except the server's address.
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
        self.dispatchTargetResourcePath = "/token/dispatch/targets/"
        self.deviceResourcePath = "/devices/"
        self.facetsPath = "/uaf/1.1/facets"
        self.noticesPath = "/account/v1/notices"
        self.sessionsPath = "/account/v1/sessions"
        self.grantsPath = "/account/v1/grants"
        self.questionsPath = "/account/v1/questions"
        self.receiptsPath = "/account/v1/receipts"
        self.redeemHosts = Set([baseURL.authority].compactMap(\.self))
        self.tlsPins = nil
        self.authenticationMaxRetries = 3
        self.authenticationRetryInterval = .seconds(1)
        self.networkTimeout = .seconds(60)
        self.userInteractionTimeout = .seconds(240)
        self.isDeviceLockRequired = true
    }

    /// Returns the address of a path at the server. The path is appended to scheme, host, port and path of ``baseURL``;
    /// the other parts of ``baseURL`` are dropped.
    func address(_ path: String) -> URL? { self.baseURL.address(of: path) }

    /// Returns `true` if a token may be sent to a host. Two hosts are the same if their bytes are the same.
    func mayRedeem(at authority: String) -> Bool { self.redeemHosts.containsBytes(of: authority) }
}

extension Duration {
    /// The duration in whole seconds. A fraction counts as a full second, so that a positive duration is never written
    /// as zero.
    package var secondsRoundedUp: Int64 {
        let (seconds, attoseconds) = self.components
        return attoseconds > 0 && seconds < .max ? seconds + 1 : seconds
    }
}
