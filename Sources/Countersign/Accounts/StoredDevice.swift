import Ceremony
import _Primitives

/// The SDK's stored data of this device, the same for all accounts. The data end with the last account.
struct StoredDevice: Equatable, Sendable {
    /// The device's identifier for the app; `nil` until the identifier is first asked for, on a device that an earlier
    /// version has enrolled.
    var id: String?
    var name: String
    var pushAddress: PushAddress?
    var isPushEnabled = true

    /// Creates the data of a device at its first registration, with a random identifier.
    init(name: String, pushAddress: PushAddress?, isPushEnabled: Bool, random: RandomSource) {
        self.id = Self.newIdentifier(random)
        self.name = name
        self.pushAddress = pushAddress
        self.isPushEnabled = isPushEnabled
    }

    /// The name as the servers store names: without characters that cannot be shown.
    var shownName: String { DisplayText.name(self.name, length: 100) }

    static func newIdentifier(_ random: RandomSource) -> String { random.token(byteCount: 16) }

    /// Returns the reason why a device cannot have a name; `nil` if the device can.
    static func flaw(ofName name: String) -> String? {
        if !(1...100).contains(name.unicodeScalars.count) { return "the name does not have 1 to 100 characters" }
        // With such a name, neither this device's own list nor an answer of the server could be read again.
        if !name.isStreamSafe { return "the name has more than 30 combining marks in a row" }
        return name.allSatisfy(\.isWhitespace) ? "the name is white space" : nil
    }

    /// A change of the data. A member that is `nil` changes nothing.
    struct Change: Equatable, Sendable {
        /// A change of the push address.
        enum Address: Equatable, Sendable {
            case set(PushAddress)
            case removed
        }

        var name: String?
        var pushAddress: Address?
        var isPushEnabled: Bool?

        /// `true` if the change changes nothing.
        var isEmpty: Bool { self == Self() }

        /// The reason why the change cannot be made; `nil` if the change can.
        var flaw: String? {
            if let name, let flaw = StoredDevice.flaw(ofName: name) { return flaw }
            guard case .set(let address) = self.pushAddress else { return nil }
            return address.flaw
        }
    }

    /// Returns the data after a change.
    func applying(_ change: Change) -> Self {
        var device = self
        if let name = change.name { device.name = name }
        switch change.pushAddress {
        case .set(let address): device.pushAddress = address
        case .removed: device.pushAddress = nil
        case nil: break
        }
        if let isPushEnabled = change.isPushEnabled { device.isPushEnabled = isPushEnabled }
        return device
    }
}

extension StoredDevice {
    /// Reads the data from the stored list of accounts; `nil` if the list has no device. Earlier versions stored only
    /// the name.
    init?(in list: JSONObject) throws {
        guard let name = try list.string("deviceName") else { return nil }
        self.name = name
        guard let device = try list.object("device") else { return }
        self.id = try device.string("id")
        if let dispatcher = try device.string("dispatcher") {
            self.pushAddress = PushAddress(
                dispatcher: dispatcher, address: try device.requiredString("pushAddress"))
        }
        self.isPushEnabled = try device.bool("isPushEnabled") ?? true
    }

    /// Writes the data into the list of accounts.
    func write(to list: inout JSONObject) {
        list["deviceName"] = .string(self.name)
        var device: JSONObject = ["isPushEnabled": .bool(self.isPushEnabled)]
        device["id"] = self.id.map { .string($0) }
        device["dispatcher"] = self.pushAddress.map { .string($0.dispatcher) }
        device["pushAddress"] = self.pushAddress.map { .string($0.address) }
        list["device"] = .object(device)
    }
}
