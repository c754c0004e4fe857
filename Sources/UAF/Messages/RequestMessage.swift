import _Primitives

/// A request as a client receives it: one dictionary, or several of different protocol versions (§2.6).
///
/// Of a dictionary only the version is read at first. The rest is read when it is chosen, by the rules of its version.
public struct RequestMessage: Sendable {
    private static let maximumDictionaries = 8

    private let dictionaries: [(version: Version, members: MemberReader)]

    /// Reads an array of 1 to 8 dictionaries, no two of the same version. Throws ``UAFError``.
    public init(parsing bytes: some Collection<UInt8>) throws(UAFError) {
        let value: JSON
        do { value = try JSON(parsing: bytes) } catch { throw UAFError(error, "request") }
        guard case .array(let elements) = value else { throw UAFError(.wrongType, "request is not an array") }
        guard (1...Self.maximumDictionaries).contains(elements.count) else {
            throw UAFError(.wrongArraySize, "request has \(elements.count) dictionaries")
        }
        var dictionaries: [(version: Version, members: MemberReader)] = []
        for element in elements {
            guard case .object(let object) = element else { throw UAFError(.wrongType, "request holds no dictionary") }
            let members = MemberReader(Self.listingVendors(object), "request")
            let version = try Version(try members.requiredMembers("header").requiredMembers("upv"))
            guard !dictionaries.contains(where: { $0.version == version }) else {
                throw UAFError(.invalidValue, "request has two dictionaries of one version")
            }
            dictionaries.append((version, members))
        }
        self.dictionaries = dictionaries
    }

    /// The versions that are offered, in the message's order.
    public var versions: [Version] { self.dictionaries.map(\.version) }

    /// The dictionary of the highest version among `versions` (§9.1); `nil` where none of them is offered.
    ///
    /// Throws ``UAFError`` where that dictionary breaks its rules: a lower one is no way around it.
    public func request(among versions: Set<Version>) throws(UAFError) -> UAFRequest? {
        var chosen: (version: Version, members: MemberReader)?
        for entry in self.dictionaries where versions.contains(entry.version) {
            if chosen.map({ $0.version < entry.version }) ?? true { chosen = entry }
        }
        guard let chosen else { return nil }
        return try UAFRequest(chosen.members)
    }

    /// The dictionary with each bare `vendorID` as a list of one (§18 row 30): an example of the standard writes it so,
    /// though the type is a list. Only a client reads it; anything else stays for the reader to refuse.
    private static func listingVendors(_ request: JSONObject) -> JSONObject {
        guard case .object(var policy)? = request["policy"] else { return request }
        func listed(_ criteria: JSON) -> JSON {
            guard case .object(var object) = criteria, case .string(let vendor)? = object["vendorID"] else {
                return criteria
            }
            object["vendorID"] = .array([.string(vendor)])
            return .object(object)
        }
        if case .array(let alternatives)? = policy["accepted"] {
            policy["accepted"] = .array(
                alternatives.map { alternative in
                    guard case .array(let criteria) = alternative else { return alternative }
                    return .array(criteria.map(listed))
                })
        }
        if case .array(let criteria)? = policy["disallowed"] { policy["disallowed"] = .array(criteria.map(listed)) }
        var request = request
        request["policy"] = .object(policy)
        return request
    }
}
