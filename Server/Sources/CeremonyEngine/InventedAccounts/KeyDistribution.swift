import Records
import Settings
public import UAF
import UAFRelyingParty
public import _Primitives

/// The look of invented accounts: the number of their devices, and the keys of a device.
///
/// Weights are sixteenths. Sixteenths are fine enough to resemble the real accounts, and too coarse to reveal their
/// number. An operator sets the document, and the document never follows the accounts by itself. Otherwise the invented
/// accounts would change from day to day while the real accounts would not.
public struct KeyDistribution: Sendable, Equatable {
    /// The sum of the weights of the devices, and of the sets.
    public static let total = Limits.Fixed.inventedWeights

    /// A model, with the length of its KeyIDs.
    public struct Key: Sendable, Equatable {
        /// The model.
        public let aaid: AAID
        /// The number of bytes of a KeyID (UAF Protocol §1).
        public let keyIDLength: Int

        /// The lengths of a KeyID that the standard allows.
        static let keyIDLengths = 32...2048
    }

    /// The keys of one device.
    public struct KeySet: Sendable, Equatable {
        /// The share of devices with this set, in sixteenths.
        public let weight: Int
        /// The keys, at most a single key of each model.
        public let keys: [Key]
    }

    /// The shares of accounts with one, two and three devices, in sixteenths.
    public let devices: [Int]
    /// The sets of keys of a device.
    public let sets: [KeySet]

    /// The distribution for a server without an operator's setting: mostly one device, mostly a PIN or a biometric
    /// factor, sometimes both.
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

    /// Reads a document. Throws `invalidRequest`, with the fault.
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

    /// Creates a distribution that resembles the present accounts, for an operator's consideration; `nil` if nothing is
    /// left.
    ///
    /// Kinds of fewer than `accounts` accounts are left out, because a rare kind could identify a person.
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

    /// Returns sixteenths in proportion to the counts. The remainder after rounding down goes to the largest fractions,
    /// and to the first among equal fractions.
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

    /// Returns the index at which the sum of the weights exceeds `point`, which is below the total.
    static func index(of point: Int, in weights: [Int]) -> Int {
        var left = point
        for (index, weight) in weights.enumerated() {
            if left < weight { return index }
            left -= weight
        }
        return weights.count - 1
    }
}
