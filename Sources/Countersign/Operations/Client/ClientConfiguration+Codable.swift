import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension ClientConfiguration: Codable {
    /// The names in a file. The names stay the same even if the properties are renamed.
    private enum CodingKeys: String, CodingKey {
        case baseURL = "baseUrl"
        case facetID = "facetId"
        case registrationRequestPath, registrationResponsePath, authenticationRequestPath
        case authenticationResponsePath, deregistrationRequestPath, authenticationRedeemPath
        case dispatchTargetResourcePath, deviceResourcePath, authenticationMaxRetries
        case authenticationRetryInterval = "authenticationRetryIntervalInSeconds"
        case deregistrationRedeemPath, facetsPath, noticesPath, sessionsPath, grantsPath, questionsPath, receiptsPath
        case redeemHosts
        case networkTimeout = "networkTimeoutInSeconds"
        case userInteractionTimeout = "userInteractionTimeoutInSeconds"
        case isDeviceLockRequired, tlsPins, tlsBackupPins
    }

    private static var texts: [(CodingKeys, WritableKeyPath<Self, String>)] {
        [
            (.facetID, \.facetID), (.registrationRequestPath, \.registrationRequestPath),
            (.registrationResponsePath, \.registrationResponsePath),
            (.authenticationRequestPath, \.authenticationRequestPath),
            (.authenticationResponsePath, \.authenticationResponsePath),
            (.deregistrationRequestPath, \.deregistrationRequestPath),
            (.authenticationRedeemPath, \.authenticationRedeemPath),
            (.deregistrationRedeemPath, \.deregistrationRedeemPath), (.facetsPath, \.facetsPath),
            (.dispatchTargetResourcePath, \.dispatchTargetResourcePath), (.deviceResourcePath, \.deviceResourcePath),
            (.noticesPath, \.noticesPath), (.sessionsPath, \.sessionsPath), (.grantsPath, \.grantsPath),
            (.questionsPath, \.questionsPath), (.receiptsPath, \.receiptsPath),
        ]
    }

    private static var seconds: [(CodingKeys, WritableKeyPath<Self, Duration>)] {
        [
            (.networkTimeout, \.networkTimeout), (.userInteractionTimeout, \.userInteractionTimeout),
            (.authenticationRetryInterval, \.authenticationRetryInterval),
        ]
    }

    /// Reads a configuration. A missing value gets its default.
    ///
    /// Throws ``InitializationError`` (`invalidConfiguration`) if `baseUrl` is missing or is not an address, and if
    /// `tlsPins` and `tlsBackupPins` form no ``TLSPins``; `DecodingError` for a value of another type.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        guard let text = try values.decodeIfPresent(String.self, forKey: .baseURL), let baseURL = URL(string: text),
            baseURL.authority != nil
        else { throw InitializationError(.invalidConfiguration, "baseUrl is missing or not an address") }
        self.init(baseURL: baseURL)
        for (key, member) in Self.texts {
            if let text = try values.decodeIfPresent(String.self, forKey: key) { self[keyPath: member] = text }
        }
        for (key, member) in Self.seconds {
            if let seconds = try values.decodeIfPresent(Int.self, forKey: key) {
                self[keyPath: member] = .seconds(seconds)
            }
        }
        if let retries = try values.decodeIfPresent(Int.self, forKey: .authenticationMaxRetries) {
            self.authenticationMaxRetries = retries
        }
        if let isRequired = try values.decodeIfPresent(Bool.self, forKey: .isDeviceLockRequired) {
            self.isDeviceLockRequired = isRequired
        }
        if let hosts = try values.decodeIfPresent([String].self, forKey: .redeemHosts) { self.redeemHosts = Set(hosts) }
        let pins = try values.decodeIfPresent([String].self, forKey: .tlsPins)
        let backupPins = try values.decodeIfPresent([String].self, forKey: .tlsBackupPins)
        guard pins != nil || backupPins != nil else { return }
        do throws(TLSPinsError) {
            self.tlsPins = try TLSPins(pins ?? [], backupPins: backupPins ?? [])
        } catch {
            throw InitializationError(.invalidConfiguration, error.reason)
        }
    }

    /// Writes all values. Times are whole seconds; a fraction of a second is written as a full second.
    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(self.baseURL, forKey: .baseURL)
        for (key, member) in Self.texts { try values.encode(self[keyPath: member], forKey: key) }
        for (key, member) in Self.seconds {
            try values.encode(self[keyPath: member].secondsRoundedUp, forKey: key)
        }
        try values.encode(self.authenticationMaxRetries, forKey: .authenticationMaxRetries)
        try values.encode(self.redeemHosts, forKey: .redeemHosts)
        try values.encode(self.isDeviceLockRequired, forKey: .isDeviceLockRequired)
        try values.encodeIfPresent(self.tlsPins?.pins, forKey: .tlsPins)
        try values.encodeIfPresent(self.tlsPins?.backupPins, forKey: .tlsBackupPins)
    }
}
