import _Primitives

extension AccountAddition {
    /// The address, if the addition is an e-mail address; `nil` for every other addition.
    package var email: String? {
        if case .email(let address) = self { address } else { nil }
    }

    /// The device, if the addition is a device that another device approved; `nil` for every other addition.
    package var approvedDevice: String? {
        if case .approvedDevice(let id) = self { id } else { nil }
    }

    /// The stored text: the kind, and after a space the name.
    package var stored: String {
        switch self {
        case .device: "device"
        case .provider(let name): "provider \(name)"
        case .email(let address): "email \(address)"
        case .phone(let number): "phone \(number)"
        case .password: "password"
        case .secondFactor: "second-factor"
        case .recoveryCodes: "recovery-codes"
        case .approvedDevice(let id): "approved-device \(id)"
        case .nothing: "nothing"
        }
    }

    /// Reads the stored text. Throws ``StoreError`` `corrupt`.
    package init(stored text: String) throws {
        let space = text.utf8.firstIndex(of: UInt8(ascii: " "))
        let kind = space.map { String(text[..<$0]) } ?? text
        let name = space.map { String(text[text.utf8.index(after: $0)...]) }
        let addition: Self? =
            switch (kind, name) {
            case ("device", nil): .device
            case ("provider", let name?): .provider(name)
            case ("email", let address?): .email(address)
            case ("phone", let number?): .phone(number)
            case ("password", nil): .password
            case ("second-factor", nil): .secondFactor
            case ("recovery-codes", nil): .recoveryCodes
            case ("approved-device", let id?): .approvedDevice(id)
            case ("nothing", nil): .nothing
            default: nil
            }
        guard let addition else { throw StoreError(.corrupt, "a change's addition") }
        self = addition
    }
}

extension AccountChangeRecord.State {
    /// Reads the stored word. Throws ``StoreError`` `corrupt`.
    package init(stored word: String) throws {
        guard let state = Self(rawValue: word) else { throw StoreError(.corrupt, "a change's state") }
        self = state
    }
}
