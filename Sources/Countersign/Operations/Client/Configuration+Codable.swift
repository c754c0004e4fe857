import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension Configuration: Codable {
    private enum CodingKeys: String, CodingKey {
        case baseUrl, facetId, registrationRequestPath, registrationResponsePath, authenticationRequestPath
        case authenticationResponsePath, deregistrationRequestPath, authenticationRedeemPath
        case deregistrationRedeemPath, facetsPath, noticesPath, sessionsPath, grantsPath, questionsPath, redeemHosts
        case networkTimeoutInSeconds, userInteractionTimeoutInSeconds
    }

    private static var texts: [(CodingKeys, WritableKeyPath<Self, String>)] {
        [
            (.facetId, \.facetId), (.registrationRequestPath, \.registrationRequestPath),
            (.registrationResponsePath, \.registrationResponsePath),
            (.authenticationRequestPath, \.authenticationRequestPath),
            (.authenticationResponsePath, \.authenticationResponsePath),
            (.deregistrationRequestPath, \.deregistrationRequestPath),
            (.authenticationRedeemPath, \.authenticationRedeemPath),
            (.deregistrationRedeemPath, \.deregistrationRedeemPath), (.facetsPath, \.facetsPath),
            (.noticesPath, \.noticesPath), (.sessionsPath, \.sessionsPath), (.grantsPath, \.grantsPath),
            (.questionsPath, \.questionsPath),
        ]
    }

    private static var seconds: [(CodingKeys, WritableKeyPath<Self, Int>)] {
        [
            (.networkTimeoutInSeconds, \.networkTimeoutInSeconds),
            (.userInteractionTimeoutInSeconds, \.userInteractionTimeoutInSeconds),
        ]
    }

    /// Reads a configuration; what is missing has its default.
    ///
    /// Throws ``InitializationError`` (`invalidConfiguration`) where `baseUrl` is missing or not an address.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        guard let text = try values.decodeIfPresent(String.self, forKey: .baseUrl), let baseUrl = URL(string: text),
            baseUrl.authority != nil
        else { throw InitializationError(.invalidConfiguration, "baseUrl is missing or not an address") }
        self.init(baseUrl: baseUrl)
        for (key, member) in Self.texts {
            if let text = try values.decodeIfPresent(String.self, forKey: key) { self[keyPath: member] = text }
        }
        for (key, member) in Self.seconds {
            if let seconds = try values.decodeIfPresent(Int.self, forKey: key) { self[keyPath: member] = seconds }
        }
        if let hosts = try values.decodeIfPresent([String].self, forKey: .redeemHosts) { self.redeemHosts = Set(hosts) }
    }

    /// Writes all of it.
    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(self.baseUrl, forKey: .baseUrl)
        for (key, member) in Self.texts { try values.encode(self[keyPath: member], forKey: key) }
        for (key, member) in Self.seconds { try values.encode(self[keyPath: member], forKey: key) }
        try values.encode(self.redeemHosts, forKey: .redeemHosts)
    }
}
