import Store
public import UAF
import UAFRelyingParty
public import _Primitives

/// What invented accounts look like: how many devices they have, and which keys a device has.
///
/// Weights are sixteenths: fine enough to look like the accounts that there are, and too coarse to say how many of them
/// there are. It is a document that an operator sets, and never follows the accounts by itself: else the invented ones
/// would change from one day to the next, and the real ones would not.
public struct KeyDistribution: Sendable, Equatable {
    /// What the weights of the devices, and of the sets, add up to.
    public static let total = Limits.Fixed.inventedWeights

    /// A model, and how long the names of its keys are.
    public struct Key: Sendable, Equatable {
        /// The model.
        public let aaid: AAID
        /// Bytes of a KeyID (UAF Protocol §1).
        public let keyIDLength: Int

        /// What the standard lets a KeyID have.
        static let keyIDLengths = 32...2048
    }

    /// The keys that a device has together.
    public struct KeySet: Sendable, Equatable {
        /// How many sixteenths of the devices have them.
        public let weight: Int
        /// One of a model.
        public let keys: [Key]
    }

    /// How many sixteenths of the accounts have one device, two, three.
    public let devices: [Int]
    /// The sets of keys of a device.
    public let sets: [KeySet]

    /// What a server goes by whose operator has set nothing: mostly one device, mostly a PIN or what the device reads
    /// of a person, sometimes both.
    public static let standard = KeyDistribution(
        devices: [12, 3, 1],
        sets: [
            (5, [.pin]), (3, [.fingerprint]), (2, [.face]), (2, [.pin, .fingerprint]), (1, [.pin, .face]),
            (1, [.password]), (1, [.devicePasscode]), (1, [.fingerprint, .devicePasscode]),
        ].map { (weight: Int, factors: [AuthenticatorModel.Factor]) in
            KeySet(
                weight: weight,
                keys: factors.map { factor in
                    Key(
                        aaid: AuthenticatorModel(factor: factor, keyStore: .file).aaid,
                        keyIDLength: Key.keyIDLengths.lowerBound)
                })
        })

    private init(devices: [Int], sets: [KeySet]) {
        self.devices = devices
        self.sets = sets
    }

    /// Reads a document. Throws `invalidRequest`, with what is wrong.
    public init(json: JSONObject) throws(CeremonyError) {
        do {
            try Self.check(json, ["devices", "sets"])
            var devices = [Int](repeating: 0, count: Limits.Fixed.inventedDevices)
            for entry in try Self.objects(json, "devices") {
                try Self.check(entry, ["count", "weight"])
                let count = try entry.integer("count", as: Int.self) ?? 0
                let weight = try entry.integer("weight", as: Int.self) ?? 0
                guard (1...Limits.Fixed.inventedDevices).contains(count), devices[count - 1] == 0,
                    (1...Self.total).contains(weight)
                else {
                    throw CeremonyError(
                        .invalidRequest,
                        "devices: each count from 1 to \(Limits.Fixed.inventedDevices) once, with a weight")
                }
                devices[count - 1] = weight
            }
            guard devices.reduce(0, +) == Self.total else {
                throw CeremonyError(.invalidRequest, "the weights of devices do not add up to \(Self.total)")
            }
            self.devices = devices
            self.sets = try Self.objects(json, "sets").map(Self.keySet)
        } catch let error as CeremonyError {
            throw error
        } catch {
            throw CeremonyError(.invalidRequest, "no distribution of devices and sets of keys")
        }
        guard self.sets.reduce(0, { $0 + $1.weight }) == Self.total else {
            throw CeremonyError(.invalidRequest, "the weights of sets do not add up to \(Self.total)")
        }
    }

    private static func keySet(_ json: JSONObject) throws -> KeySet {
        try self.check(json, ["weight", "keys"])
        let weight = try json.integer("weight", as: Int.self) ?? 0
        let keys = try self.objects(json, "keys").map { (entry: JSONObject) throws -> Key in
            try self.check(entry, ["aaid", "keyIdLength"])
            guard let length = try entry.integer("keyIdLength", as: Int.self), Key.keyIDLengths.contains(length),
                let aaid = try? AAID(try entry.requiredString("aaid"))
            else { throw CeremonyError(.invalidRequest, "a key needs an aaid and a keyIdLength from 32 to 2048") }
            return Key(aaid: aaid, keyIDLength: length)
        }
        guard (1...self.total).contains(weight), (1...Limits.Fixed.inventedKeys).contains(keys.count),
            Set(keys.map { $0.aaid }).count == keys.count
        else {
            throw CeremonyError(
                .invalidRequest,
                "a set has a weight and 1 to \(Limits.Fixed.inventedKeys) keys, one of a model")
        }
        return KeySet(weight: weight, keys: keys)
    }

    private static func check(_ json: JSONObject, _ known: Set<ExactText>) throws(CeremonyError) {
        guard json.members.allSatisfy({ known.contains(ExactText($0.name)) }) else {
            throw CeremonyError(.invalidRequest, "a member that is not known")
        }
    }

    private static func objects(_ json: JSONObject, _ name: String) throws -> [JSONObject] {
        guard let values = try json.array(name), values.count <= self.total else {
            throw CeremonyError(.invalidRequest, "no \(name), or too many")
        }
        return try values.map { value in
            guard case .object(let object) = value else {
                throw CeremonyError(.invalidRequest, "\(name) are objects")
            }
            return object
        }
    }

    /// The document.
    public var json: JSONObject {
        [
            "devices": .array(
                self.devices.enumerated().filter { $0.element > 0 }.map { index, weight in
                    .object(["count": .integer(Int64(index + 1)), "weight": .integer(Int64(weight))])
                }),
            "sets": .array(
                self.sets.map { set in
                    .object([
                        "weight": .integer(Int64(set.weight)),
                        "keys": .array(
                            set.keys.map { key in
                                .object([
                                    "aaid": .string(key.aaid.text), "keyIdLength": .integer(Int64(key.keyIDLength)),
                                ])
                            }),
                    ])
                }),
        ]
    }

    /// The distribution that looks like the accounts that there are, for an operator to consider: without what fewer
    /// than `accounts` accounts have, which could tell of somebody. `nil` where nothing is left.
    init?(proposedFrom statistics: KeyStatistics, accounts: Int) {
        let sets = statistics.sets.filter { $0.accounts >= accounts }.compactMap { set -> (KeySet, Int)? in
            let keys = set.keys.compactMap { key in
                (try? AAID(key.aaid)).map { Key(aaid: $0, keyIDLength: key.keyIDLength) }
            }
            guard keys.count == set.keys.count, (1...Limits.Fixed.inventedKeys).contains(keys.count),
                Set(keys.map(\.aaid)).count == keys.count
            else { return nil }
            return (KeySet(weight: 0, keys: keys), set.accounts)
        }
        let counts = (1...Limits.Fixed.inventedDevices).map { count in
            statistics.accountsByDevices[count].map { $0 >= accounts ? $0 : 0 } ?? 0
        }
        guard !sets.isEmpty, counts.contains(where: { $0 > 0 }) else { return nil }
        self.devices = Self.sixteenths(of: counts)
        self.sets = zip(sets, Self.sixteenths(of: sets.map(\.1))).filter { $1 > 0 }.map { set, weight in
            KeySet(weight: weight, keys: set.0.keys)
        }
    }

    /// Sixteenths in proportion to the counts; what is left after rounding down goes to the largest remainders, the
    /// first of those that are alike.
    private static func sixteenths(of counts: [Int]) -> [Int] {
        let sum = counts.reduce(0, +)
        var weights = counts.map { $0 * self.total / sum }
        let rest = self.total - weights.reduce(0, +)
        let order = counts.indices.sorted { left, right in
            let (first, second) = (counts[left] * self.total % sum, counts[right] * self.total % sum)
            return first == second ? left < right : first > second
        }
        for index in order.prefix(rest) { weights[index] += 1 }
        return weights
    }

    /// The index at which the weights reach beyond `point`, which is below their sum.
    static func index(of point: Int, in weights: [Int]) -> Int {
        var left = point
        for (index, weight) in weights.enumerated() {
            if left < weight { return index }
            left -= weight
        }
        return weights.count - 1
    }
}
