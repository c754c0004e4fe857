import _Primitives

/// A request as a client receives it: one dictionary, or several dictionaries of different protocol versions (§2.6).
///
/// At first only the version of each dictionary is read. The rest of a dictionary is read after the choice of a
/// version, by the rules of this version.
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

    /// The offered versions, in the message's order.
    public var versions: [Version] { self.dictionaries.map(\.version) }

    /// Returns the dictionary of the highest offered version among `versions` (§9.1); `nil` if none of the versions is
    /// offered.
    ///
    /// Throws ``UAFError`` if the dictionary breaks its rules: a lower version is not a way around the rules.
    public func request(among versions: Set<Version>) throws(UAFError) -> UAFRequest? {
        var chosen: (version: Version, members: MemberReader)?
        for entry in self.dictionaries where versions.contains(entry.version) {
            if chosen.map({ $0.version < entry.version }) ?? true { chosen = entry }
        }
        guard let chosen else { return nil }
        return try UAFRequest(chosen.members)
    }

    /// Returns the dictionary with each bare `vendorID` as a list of one (§18 row 30).
    ///
    /// An example of the standard has a bare text, although the type is a list. Only a client reads this form. The
    /// reader refuses any other deviation.
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
