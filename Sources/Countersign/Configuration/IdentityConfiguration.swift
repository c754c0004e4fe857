import JOSE
import _Primitives

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The configuration of ``CountersignSDK``: the servers that may manage identities on this device, and the app's
/// requirements for the device.
public struct IdentityConfiguration: Sendable {
    /// A server that may manage identities, with the root keys that authenticate everything the server signs.
    public struct TrustedServer: Hashable, Sendable {
        /// The server's name in every document that the server signs: the base address, byte for byte.
        public let idmIdentifier: String
        /// The server's root keys. Each is the text of a JSON web key on P-256, as the server's operator publishes the
        /// key for app developers.
        public let rootKeys: [String]

        /// Creates a server with its root keys: the key that signs now, and the next key if the operator has published
        /// a next key. The server of this product has one root key and no next key.
        public init(idmIdentifier: String, rootKeys: [String]) {
            self.idmIdentifier = idmIdentifier
            self.rootKeys = rootKeys
        }
    }

    /// The servers. The SDK never connects to any other server, whatever a code says.
    public var servers: [TrustedServer]
    /// The identity of this app, as the app's factors sign it. The default is ``MetaData/applicationFacetID``.
    public var facetID: String
    /// The name of this device in the person's device list if the person gives the device no name: 1 to 256 bytes.
    public var deviceName: String
    /// The maximum time of one exchange with a server. More than 25 seconds count as 25 seconds: the server accepts the
    /// device's signature of a request for a minute only.
    ///
    /// If an answer is lost, the SDK sends the same request once more within this time.
    public var networkTimeout: Duration
    /// The pinned keys of all ``servers``. The default is `nil`: the system's certificate authorities alone decide.
    ///
    /// With pins, ``CountersignSDK/initialize(_:platform:transport:traceRecorder:)`` needs a transport that enforces pins
    /// (``Transport/pinned(to:)``), and ends with `invalidConfiguration` for any other transport.
    public var tlsPins: TLSPins?
    /// `true` if identities need a device with a passcode. The default is `true`: without a passcode,
    /// ``CountersignSDK/initialize(_:platform:transport:traceRecorder:)`` ends with `deviceLockNotSet`.
    ///
    /// ``DevicePlatform``'s `devicePasscode` reports the passcode. An app therefore sets `devicePasscode` on every
    /// operating system with passcodes. A platform without `devicePasscode`, such as Linux, cannot report a passcode;
    /// identities work on such a platform all the same.
    public var isDeviceLockRequired: Bool
    /// The app's inspection of the device's security. `nil` if the app inspects nothing; the servers then receive no
    /// findings.
    public var securityInspection: (any SecurityInspection)?
    /// The app's own requirements for the device: returns the names of the problems, and an empty list if the device is
    /// secure enough. Each server also applies a policy of its own.
    public var securityPolicy: @Sendable (SecurityCheckResult) -> [String]

    /// Creates a configuration with the default values for everything except the servers.
    public init(servers: [TrustedServer]) {
        self.servers = servers
        self.facetID = MetaData.applicationFacetID
        self.deviceName = "Phone"
        self.networkTimeout = .seconds(25)
        self.tlsPins = nil
        self.isDeviceLockRequired = true
        self.securityInspection = nil
        self.securityPolicy = { _ in [] }
    }
}

/// An inspection of the device for signs that its protection was removed.
///
/// The visible signs differ between operating systems. An app therefore brings an implementation for its platform.
public protocol SecurityInspection: Sendable {
    /// Inspects the device now. The inspection may ask the operating system, and must finish within the time that a
    /// person waits.
    func inspect() async throws -> SecurityFindings
}

/// The findings of an inspection of the device.
public struct SecurityFindings: Hashable, Sendable {
    /// The version of the check. A higher version checks more.
    public var checkVersion: Int32
    /// The operating system and its version, at most 128 bytes.
    public var osVersion: String
    /// `true` if the operating system's protection was removed.
    public var isRooted: Bool
    /// `true` if a debugger or foreign code has reached into the app.
    public var isHooked: Bool

    /// Creates the findings of an inspection.
    public init(checkVersion: Int32, osVersion: String, isRooted: Bool, isHooked: Bool) {
        self.checkVersion = checkVersion
        self.osVersion = osVersion
        self.isRooted = isRooted
        self.isHooked = isHooked
    }
}

/// The findings of an inspection of the device, with the time of the inspection.
public struct SecurityCheckResult: Hashable, Sendable {
    /// The time of the inspection, by the device's own clock.
    public let date: Date
    /// The version of the check.
    public let checkVersion: Int32
    /// The operating system and its version.
    public let osVersion: String
    /// `true` if the operating system's protection was removed.
    public let isRooted: Bool
    /// `true` if a debugger or foreign code has reached into the app.
    public let isHooked: Bool

    init(_ findings: SecurityFindings, at moment: Timestamp) {
        self.date = Date(timeIntervalSince1970: Double(moment.milliseconds) / 1000)
        self.checkVersion = findings.checkVersion
        self.osVersion = findings.osVersion
        self.isRooted = findings.isRooted
        self.isHooked = findings.isHooked
    }
}

extension IdentityConfiguration.TrustedServer {
    /// Returns the root keys by key ID. A key without a key ID gets its thumbprint as the key ID.
    ///
    /// Throws `JSONError` if a text is not JSON; `JOSEError` if a text is not a public key on P-256, or if there is no
    /// root key.
    func roots() throws -> JWKSet {
        guard !self.rootKeys.isEmpty else { throw JOSEError(.invalidKey, "no root key") }
        return JWKSet(
            try self.rootKeys.map { text in
                guard case .object(let object) = try JSON(parsing: text) else {
                    throw JOSEError(.invalidKey, "a root key")
                }
                var key = try JWK(publicJSON: object)
                guard case .p256 = key.material else { throw JOSEError(.invalidKey, "not on P-256") }
                if key.keyID == nil { key.keyID = key.thumbprint }
                return key
            })
    }
}
