import JOSE
import _Primitives

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// What ``CountersignSDK`` goes by: which servers may manage identities on this device, and what the app wants of the
/// device.
public struct IdentityConfiguration: Sendable {
    /// A server that may manage identities, with the keys that vouch for everything that it says.
    public struct TrustedServer: Hashable, Sendable {
        /// What the server is called in everything that it signs: its base address, to the letter.
        public let idmIdentifier: String
        /// Its root keys, each the text of a JSON web key on P-256, as its operator gives it to makers of apps.
        public let rootKeys: [String]

        /// A server with its root keys: the one that signs, and the next one where there is one already. The server of this
        /// product has one, and no next one.
        public init(idmIdentifier: String, rootKeys: [String]) {
            self.idmIdentifier = idmIdentifier
            self.rootKeys = rootKeys
        }
    }

    /// The servers. No other is ever spoken to, whatever a code says.
    public var servers: [TrustedServer]
    /// The identity of this app, as its factors sign it; by default ``MetaData/applicationFacetID``.
    public var facetID: String
    /// What the server calls this device in the person's list, where the person gives it no name: 1 to 256 bytes.
    public var deviceName: String
    /// How long one exchange with a server may take, at most 25: what the device signs for it is soon too old. An answer that
    /// was lost is asked for once more within that time.
    public var networkTimeout: Duration
    /// Whether there are identities only on a device with a passcode, which is so by default: without one
    /// ``CountersignSDK/initialize(_:platform:transport:traceRecorder:)`` ends with `deviceLockNotSet`. What can tell is
    /// ``DevicePlatform``'s `devicePasscode`, so an app gives one wherever its operating system has passcodes. A platform without
    /// it, as on Linux, has nothing that could tell, and there are identities all the same.
    public var isDeviceLockRequired: Bool
    /// What looks at the device's soundness; `nil` where the app looks at nothing, and servers are told nothing.
    public var securityInspection: (any SecurityInspection)?
    /// What the app itself wants of the device: it names what is amiss, and nothing where the device is sound enough. A
    /// server has a policy of its own beside.
    public var securityPolicy: @Sendable (SecurityCheckResult) -> [String]

    /// A configuration with the defaults for everything but the servers.
    public init(servers: [TrustedServer]) {
        self.servers = servers
        self.facetID = MetaData.applicationFacetID
        self.deviceName = "Phone"
        self.networkTimeout = .seconds(25)
        self.isDeviceLockRequired = true
        self.securityInspection = nil
        self.securityPolicy = { _ in [] }
    }
}

/// Looks at the device for signs that somebody has taken its protection away. What is to be seen differs from system to
/// system: an app brings what its platform has.
public protocol SecurityInspection: Sendable {
    /// Looks now. It may ask the operating system, and takes no longer than a person waits.
    func inspect() async throws -> SecurityFindings
}

/// What a look at the device has found.
public struct SecurityFindings: Hashable, Sendable {
    /// Which version of the check it was: higher ones look at more.
    public var checkVersion: Int32
    /// The operating system and its version, at most 128 bytes.
    public var osVersion: String
    /// Whether the system's protection was taken away.
    public var isRooted: Bool
    /// Whether something has reached into the app: a debugger, or code of others.
    public var isHooked: Bool

    /// Describes what was found.
    public init(checkVersion: Int32, osVersion: String, isRooted: Bool, isHooked: Bool) {
        self.checkVersion = checkVersion
        self.osVersion = osVersion
        self.isRooted = isRooted
        self.isHooked = isHooked
    }
}

/// What a look at the device has found, and when.
public struct SecurityCheckResult: Hashable, Sendable {
    /// When the device looked, by its own clock.
    public let date: Date
    /// Which version of the check it was.
    public let checkVersion: Int32
    /// The operating system and its version.
    public let osVersion: String
    /// Whether the system's protection was taken away.
    public let isRooted: Bool
    /// Whether something has reached into the app.
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
    /// The root keys, by their names: a key without one goes by its thumbprint.
    ///
    /// Throws `JOSEError` for what is no public key on P-256, and where there is none.
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
