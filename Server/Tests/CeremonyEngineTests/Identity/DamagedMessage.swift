import Ceremony
import CountersignTestKit
import _Primitives

/// What becomes of a JSON message on a bad way, or of one that somebody has written to do harm.
enum DamagedMessage {
    /// What can stand in a member's place: other types, numbers that fit nothing, nesting up to and past what is read, and
    /// texts within, at and past the bounds that members have.
    private static let values =
        [
            "null", "true", "0", "-1", "1e999", "0.5", "9007199254740993", "99999999999999999999", "\"\"", "[]", "{}",
            "[null]", #"{"a":{"a":1}}"#, #""\ud800""#, #""\u0000""#, #""\u202e""#, "\"e\u{301}\u{301}\"",
        ] + [4, 7, 8, 64, 5000].map { String(repeating: "[", count: $0) + String(repeating: "]", count: $0) }
        + [1, 32, 43, 64, 65, 128, 256, 257, 512, 513, 4096, 4097, 66_000].map {
            "\"" + String(repeating: "A", count: $0) + "\""
        }
    private static let pieces = ["\u{0}", "%00", "\"", "\\", "{", "[", ",", ":", "null", "-0", "1e999", "\\ud800"]

    /// Damaged messages, the same for the same seed: every member left out and written twice, and others in its place; and
    /// as many as asked for with some bytes changed, left out, doubled or put elsewhere.
    static func all(of message: JSONObject, seed: String, others: Int = 4, bytes: Int = 40) -> [[UInt8]] {
        let random = RandomSource.repeatable(seed)
        let whole = JSON.object(message)
        var damaged = ["", "null", "[]", "{}", "[\(whole.text)]", "\(whole.text)\(whole.text)"]
        for path in Self.paths(of: whole) {
            guard let old = Self.value(at: path[...], of: whole)?.text else { continue }
            damaged.append(Self.putting(nil, at: path[...], of: whole).text)
            damaged.append(Self.put("0", beside: old, at: path, of: whole))
            damaged.append(Self.put(old, beside: old, at: path, of: whole))
            for _ in 0..<others { damaged.append(Self.put(Self.one(of: Self.values, random), at: path, of: whole)) }
        }
        return damaged.map { Array($0.utf8) } + (0..<bytes).map { _ in Self.changed(Array(whole.text.utf8), random) }
    }

    /// Bytes of which some are changed, left out, doubled or put elsewhere.
    static func changed(_ message: [UInt8], _ random: RandomSource) -> [UInt8] {
        var bytes = message
        for _ in 0...random.number(below: 3) {
            let start = Int(random.number(below: UInt64(bytes.count + 1)))
            let end = min(bytes.count, start + 1 + Int(random.number(below: 8)))
            switch random.number(below: 6) {
            case 0: bytes.removeSubrange(start..<max(start, end))
            case 1: bytes.insert(contentsOf: random.bytes(2), at: start)
            case 2: bytes.insert(contentsOf: Array(bytes[start..<max(start, end)]), at: start)
            case 3: bytes.insert(contentsOf: Self.one(of: Self.pieces, random).utf8, at: start)
            case 4: bytes = Array(bytes[start...] + bytes[..<start])
            default: if start < bytes.count { bytes[start] ^= 1 << UInt8(random.number(below: 8)) }
            }
        }
        return bytes
    }

    private static func one<Element>(of choices: [Element], _ random: RandomSource) -> Element {
        choices[Int(random.number(below: UInt64(choices.count)))]
    }

    // MARK: Members

    private enum Step { case member(String), element(Int) }

    /// Where every value is, below the message itself.
    private static func paths(of json: JSON) -> [[Step]] {
        let below: [(Step, JSON)] =
            switch json {
            case .object(let object): object.members.map { (.member($0.name), $0.value) }
            case .array(let values): values.enumerated().map { (.element($0.offset), $0.element) }
            default: []
            }
        return below.flatMap { step, value in [[step]] + Self.paths(of: value).map { [step] + $0 } }
    }

    private static func value(at path: ArraySlice<Step>, of json: JSON) -> JSON? {
        guard let step = path.first else { return json }
        switch (step, json) {
        case (.member(let name), .object(let object)):
            return object[name].flatMap { Self.value(at: path.dropFirst(), of: $0) }
        case (.element(let index), .array(let values)): return Self.value(at: path.dropFirst(), of: values[index])
        default: return nil
        }
    }

    private static func putting(_ new: JSON?, at path: ArraySlice<Step>, of json: JSON) -> JSON {
        let rest = path.dropFirst()
        switch (path.first, json) {
        case (.member(let name), .object(var object)):
            object[name] = rest.isEmpty ? new : object[name].map { Self.putting(new, at: rest, of: $0) }
            return .object(object)
        case (.element(let index), .array(var values)):
            if !rest.isEmpty {
                values[index] = Self.putting(new, at: rest, of: values[index])
            } else if let new {
                values[index] = new
            } else {
                values.remove(at: index)
            }
            return .array(values)
        default: return json
        }
    }

    private static let mark = "@@here@@"

    /// The message with a text in a value's place that need not be a value; and with another one beside it, where it has a
    /// name by the same one.
    private static func put(_ text: String, beside other: String? = nil, at path: [Step], of json: JSON) -> String {
        var new = text
        if let other {
            if case .member(let name)? = path.last {
                new = "\(other),\(JSON.string(name).text):\(text)"
            } else {
                new = "\(other),\(text)"
            }
        }
        return Self.putting(.string(Self.mark), at: path[...], of: json).text.replacing("\"\(Self.mark)\"", with: new)
    }
}

/// Whatever object a test wants to be sent.
struct AnyMessage: IdentityMessage {
    var json: JSONObject
    init(json: JSONObject) { self.json = json }
}
