import Sealing
import Settings
import _Primitives

/// The confirmation number of an enrolment: the phone shows the number, and the person who requested the enrolment
/// enters the number.
extension CeremonyEnvironment {
    /// Returns a random number for a phone to show.
    func confirmationNumber() -> String { self.random.digits(self.configuration.limits.confirmationDigits) }

    /// Returns the code that is kept for a number, bound to its ceremony.
    func confirmationCode(_ number: String, ceremonyID: String) -> [UInt8] {
        self.sealing.code("\(ceremonyID) \(number)", purpose: .confirmationNumber)
    }
}
