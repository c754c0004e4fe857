import Ceremony

/// What a phone is told of its activation; the store's record of one has the same name.
typealias ActivationReceipt = Ceremony.ActivationRecord
