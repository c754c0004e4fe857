import Testing
import UAF
import _Primitives

/// A JSON text that is changed in one place, to see that just that is refused.
struct Sample {
    var json: JSON

    init(_ text: String) throws { self.json = try JSON(parsing: text) }
    init(_ bytes: [UInt8]) throws { self.json = try JSON(parsing: bytes) }

    /// The bytes with the value at `path` (names and indexes with dots between) replaced, or removed for `nil`.
    func setting(_ path: String, _ value: JSON?) -> [UInt8] {
        Self.set(self.json, path.split(separator: ".").map(String.init)[...], value).serialized
    }

    private static func set(_ json: JSON, _ path: ArraySlice<String>, _ value: JSON?) -> JSON {
        guard let name = path.first else { return value ?? json }
        switch json {
        case .object(var object):
            object[name] =
                path.count == 1 ? value : self.set(object[name] ?? .object(JSONObject()), path.dropFirst(), value)
            return .object(object)
        case .array(var array):
            guard let index = Int(name), array.indices.contains(index) else { return json }
            if path.count == 1, value == nil {
                array.remove(at: index)
            } else {
                array[index] = self.set(array[index], path.dropFirst(), value)
            }
            return .array(array)
        default: return json
        }
    }
}

/// One change to a sample and the code that it must be refused with.
struct BadChange: CustomTestStringConvertible, Sendable {
    let path: String
    let value: JSON?
    let code: UAFError.Code

    init(_ path: String, _ value: JSON?, _ code: UAFError.Code) {
        self.path = path
        self.value = value
        self.code = code
    }

    var testDescription: String { "\(self.path) \(self.value.map { "= \($0.text.prefix(24))" } ?? "missing")" }
}

/// Repeatable random numbers (SplitMix64), so that a failing run can be run again.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64
    init(seed: UInt64) { self.state = seed }
    mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var z = self.state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    mutating func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8.random(in: 0...255, using: &self) } }
}

func bytes(_ count: Int, _ value: UInt8 = 7) -> [UInt8] { [UInt8](repeating: value, count: count) }

func text(_ count: Int) -> JSON { .string(String(repeating: "ü", count: count)) }

/// Parts that many tests need.
enum Parts {
    static let challenge = Base64URL.encode(bytes(32, 1))
    static let keyID = Base64URL.encode(bytes(32, 2))

    static let registrationRequest = """
        [{"header":{"upv":{"major":1,"minor":1},"op":"Reg","appID":"https://uaf.example/facets","serverData":"state",
          "exts":[{"id":"some.extension","data":"","fail_if_unknown":false}]},
          "challenge":"\(challenge)","username":"alice",
          "policy":{"accepted":[[{"aaid":["C516#0001"]},{"aaid":["C516#0006"]}],[{"userVerification":2,
          "authenticationAlgorithms":[1,2],"assertionSchemes":["UAFV1TLV"]}]],
          "disallowed":[{"aaid":["C516#0003"],"keyIDs":["\(keyID)"]}]}}]
        """

    static let authenticationRequest = """
        [{"header":{"upv":{"major":1,"minor":1},"op":"Auth"},"challenge":"\(challenge)",
          "transaction":[{"contentType":"text/plain","content":"UGF5IDEwIEVVUg"}],
          "policy":{"accepted":[[{"aaid":["C516#0001"],"keyIDs":["\(keyID)"]}]]}}]
        """

    static func response(_ operation: String) -> String {
        """
        [{"header":{"upv":{"major":1,"minor":1},"op":"\(operation)","appID":"linux:program:phone","serverData":"state"},
          "fcParams":"eyJhIjoxfQ","assertions":[{"assertionScheme":"UAFV1TLV","assertion":"AT4AAA",
          "exts":[{"id":"x","data":"y","fail_if_unknown":false}]}]}]
        """
    }

    static let deregistrationRequest = """
        [{"header":{"upv":{"major":1,"minor":1},"op":"Dereg","appID":"https://uaf.example/facets"},
          "authenticators":[{"aaid":"c516#0001","keyID":"\(keyID)"},{"aaid":"C516#0003","keyID":"\(keyID)"}]}]
        """
}
